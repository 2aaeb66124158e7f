// The leaderboard extension from Go: submit, read, retry, listen.
//
// libpq's environment variables (PGHOST, PGDATABASE, ...) say where the database is.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/rand"
	"strings"
	"time"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
)

type entry struct {
	rank, member, score int64
}

func connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, "")
}

// submit returns the player's score and rank after the change.  With a match, the same
// call can be repeated: it counts once.
func submit(ctx context.Context, conn *pgx.Conn, player, amount int64, op string, match *string) (score, rank int64, err error) {
	err = conn.QueryRow(ctx,
		"SELECT score, rank FROM leaderboard.lb_submit($1, $2, $3, $4) WHERE board = 'global'",
		player, amount, op, match).Scan(&score, &rank)
	return
}

func entries(rows pgx.Rows, err error) ([]entry, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []entry
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.rank, &e.member, &e.score); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, rows.Err()
}

func top(ctx context.Context, conn *pgx.Conn, n int) ([]entry, error) {
	return entries(conn.Query(ctx, "SELECT rank, member, score FROM leaderboard.lb_top($1)", n))
}

func around(ctx context.Context, conn *pgx.Conn, player int64, radius int) ([]entry, error) {
	return entries(conn.Query(ctx,
		"SELECT rank, member, score FROM leaderboard.lb_around($1, radius => $2)", player, radius))
}

// canBeTriedAgain: serialization failure, deadlock, shutdown, lost connection.  The last
// is no error of the server's.
func canBeTriedAgain(conn *pgx.Conn, err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code == "40001" || e.Code == "40P01" ||
			strings.HasPrefix(e.Code, "08") || strings.HasPrefix(e.Code, "57P")
	}
	return conn == nil || conn.IsClosed()
}

// retry runs work until none of these gets in its way, and returns the score and the
// number of attempts.  A lost connection does not say whether its commit was done, so
// work should submit with a match.
func retry(ctx context.Context, work func(conn *pgx.Conn, attempt int) (int64, error)) (int64, int, error) {
	for attempt := 1; ; attempt++ {
		var score int64
		conn, err := connect(ctx)
		if err == nil {
			score, err = work(conn, attempt)
			if err == nil {
				return score, attempt, conn.Close(ctx)
			}
		}
		if attempt == 5 || !canBeTriedAgain(conn, err) {
			return 0, attempt, err
		}
		if conn != nil {
			conn.Close(ctx)
		}
		time.Sleep(time.Duration(rand.Int63n(int64(20*time.Millisecond) << attempt)))
	}
}

func conflicting(ctx context.Context) func(*pgx.Conn, int) (int64, error) {
	return func(conn *pgx.Conn, attempt int) (score int64, err error) {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		if err != nil {
			return 0, err
		}
		defer tx.Rollback(ctx)
		if _, err = conn.Exec(ctx, "SELECT leaderboard.lb_score(42)"); err != nil {
			return 0, err
		}
		if attempt == 1 { // another session is faster
			other, err := connect(ctx)
			if err != nil {
				return 0, err
			}
			defer other.Close(ctx)
			if _, _, err = submit(ctx, other, 42, 10, "incr", nil); err != nil {
				return 0, err
			}
		}
		if score, _, err = submit(ctx, conn, 42, 10, "incr", nil); err != nil {
			return 0, err
		}
		return score, tx.Commit(ctx)
	}
}

func disconnected(ctx context.Context) func(*pgx.Conn, int) (int64, error) {
	return func(conn *pgx.Conn, attempt int) (int64, error) {
		match := "match 2"
		score, _, err := submit(ctx, conn, 42, 10, "incr", &match)
		if err == nil && attempt == 1 { // the answer does not arrive
			_, err = conn.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
		}
		return score, err
	}
}

// placeOf waits until a notification says at which place the player is.
func placeOf(ctx context.Context, conn *pgx.Conn, player int64) (int, error) {
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return 0, err
		}
		var change struct {
			Places []struct {
				Place  int
				Player *int64 `json:"player_id"`
			}
		}
		if err := json.Unmarshal([]byte(n.Payload), &change); err != nil {
			return 0, err
		}
		for _, p := range change.Places {
			if p.Player != nil && *p.Player == player {
				return p.Place, nil
			}
		}
	}
}

func show(rows []entry) {
	for _, e := range rows {
		fmt.Printf("  %d. player %d with %d\n", e.rank, e.member, e.score)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	conn, err := connect(ctx)
	check(err)
	defer conn.Close(ctx)

	match := "match 1"
	for _, title := range []string{"submit", "the same match again"} {
		score, rank, err := submit(ctx, conn, 42, 80, "incr", &match)
		check(err)
		fmt.Printf("%s: player 42 has %d points and rank %d\n", title, score, rank)
	}
	rows, err := top(ctx, conn, 3)
	check(err)
	fmt.Println("top:")
	show(rows)
	rows, err = around(ctx, conn, 42, 1)
	check(err)
	fmt.Println("around player 42:")
	show(rows)

	score, attempts, err := retry(ctx, conflicting(ctx))
	check(err)
	fmt.Printf("serialization failure: player 42 has %d points after %d attempts\n", score, attempts)
	score, attempts, err = retry(ctx, disconnected(ctx))
	check(err)
	fmt.Printf("lost connection: player 42 has %d points after %d attempts\n", score, attempts)

	// Listen first, then read or change: nothing is missed.
	_, err = conn.Exec(ctx, "LISTEN leaderboard")
	check(err)
	_, _, err = submit(ctx, conn, 42, 1<<53+1, "set", nil)
	check(err)
	place, err := placeOf(ctx, conn, 42)
	check(err)
	fmt.Printf("listen: player 42 is at place %d\n", place)

	check(conn.QueryRow(ctx, "SELECT leaderboard.lb_score(42)").Scan(&score))
	fmt.Printf("2^53 + 1: player 42 has %d points\n", score)
}
