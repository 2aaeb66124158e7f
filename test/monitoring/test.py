#!/usr/bin/python3
"""test.py TREE PRIMARY STANDBY: the tests of examples/monitoring.

PRIMARY and STANDBY are the directories of the servers' sockets.  The exporter runs
as a role that is only a member of pg_monitor.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

# What a game has on an ordinary day, and some troubles.
SCENARIO = """
    CREATE TABLE fam (id bigint PRIMARY KEY, country text, score bigint NOT NULL);
    INSERT INTO fam SELECT i, 'c' || i % 3, i FROM generate_series(1, 300) i;
    SELECT lb_create_board('country', 'fam', 'id', 'score DESC', 'country');
    CREATE TABLE off (id bigint PRIMARY KEY, score bigint NOT NULL);
    SELECT lb_create_board('off', 'off', 'id');
    INSERT INTO player_scores SELECT i, i FROM generate_series(1, 1000) i;
    SELECT lb_wait_ready();
    ANALYZE player_scores;
    ALTER TABLE off DISABLE TRIGGER leaderboard_capture;
    SELECT lb_open_window('cup:1', starts => now() - interval '2 days', ends => now() - interval '1 day', late => '0');
    INSERT INTO player_score_windows (player_id, window_key, score) VALUES (1, 'cup:1', 7);
    SELECT lb_create_leaderboard('kills');
    SELECT lb_open_window('kills/cup:1', starts => now() - interval '2 days', ends => now() - interval '1 day', late => '0');
    INSERT INTO kills_score_windows (player_id, window_key, score) SELECT i, 'kills/cup:1', i FROM generate_series(1, 20) i;
    SELECT lb_set_limit('cheats', 'global', max_amount => 10, action => 'flag');
    SELECT lb_submit(5, 1000);
    CREATE SUBSCRIPTION away CONNECTION 'host=/nowhere' PUBLICATION p WITH (connect = false);
    ALTER SUBSCRIPTION away ENABLE;
"""
READS = [
    "SELECT lb_rank(7)",
    "SELECT lb_rank(7, 'country:c1'), lb_rank(8, 'country:c2')",
    "SELECT count(*) FROM player_scores WHERE score > 500 AND ranked",
    "SET leaderboard.enable_index = off; SELECT lb_rank(7)",
]


class Tap:
    """Prints results in the Test Anything Protocol."""

    def __init__(self):
        self.count = self.failed = 0

    def ok(self, true, title, details=""):
        self.count += 1
        print(f"{'ok' if true else 'not ok'} {self.count} - {title}")
        if not true:
            self.failed += 1
            print("\n".join(f"# {line}" for line in str(details).splitlines()))

    def is_(self, got, expected, title):
        self.ok(got == expected, title, f"got      {got!r}\nexpected {expected!r}")


def sql(directory, *statements):
    args = [arg for statement in statements for arg in ("-c", statement)]
    return subprocess.run(["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-h", directory, *args],
                          check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def role_of_page(tree):
    """The statements of the page that make the exporter's role."""
    with open(f"{tree}/docs/monitoring.md", encoding="utf8") as page:
        return re.search(r"^```sql\n(.*?)^```", page.read(), re.M | re.S).group(1)


def old_snapshot(directory):
    """A session that keeps the history from being trimmed."""
    session = subprocess.Popen(["psql", "-X", "-q", "-At", "-h", directory], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    session.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 1;\n")
    session.stdin.flush()
    session.stdout.readline()
    return session


def scrape(queries, directory):
    """What the exporter shows of a server."""
    port = free_port()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    source = f"host={directory} user=lb_exporter dbname=monitoring"
    with tempfile.TemporaryFile() as log, subprocess.Popen(
            ["prometheus-postgres-exporter", f"--web.listen-address=127.0.0.1:{port}",
             f"--extend.query-path={queries}", "--auto-discover-databases",
             "--include-databases=monitoring,shop"],
            env={**os.environ, "DATA_SOURCE_NAME": source}, stdout=log, stderr=log) as process:
        try:
            for _ in range(300):
                try:
                    with opener.open(f"http://127.0.0.1:{port}/metrics") as page:
                        return page.read().decode()
                except urllib.error.HTTPError as error:
                    sys.exit(f"the exporter has an error: {error.read().decode()}")
                except urllib.error.URLError:
                    time.sleep(0.1)
            log.seek(0)
            sys.exit(f"the exporter does not answer: {log.read().decode()}")
        finally:
            process.terminate()


def parse(text):
    """Types by metric, and values by metric and labels."""
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
    values = [(name, dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value))
              for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.M)]
    return types, values


class Metrics:
    def __init__(self, text):
        self.types, self.values = parse(text)

    def of(self, name, **labels):
        """The value of the one series that has these labels."""
        found = [v for n, of, v in self.values if n == name and labels.items() <= of.items()]
        return found[0] if len(found) == 1 else found


def check_values(t, m, primary, standby):
    here = {"server": f"{primary}:5432", "datname": "monitoring"}
    server = {"server": f"{primary}:5432"}
    there = {"server": f"{standby}:5432"}
    for name, labels, expected in [
            ("board_members", {"board": "global"}, 1000),
            ("board_members", {"board": "country"}, 300),
            ("board_members", {"board": "kills/"}, 20),
            ("board_ready", {"board": "country"}, 1),
            ("board_offline", {"board": "off"}, 1),
            ("board_ready", {"board": "off"}, 0),
            ("board_index_reads_total", {"board": "country"}, 2),
            ("board_planned_reads_total", {"board": "global"}, 1),
            ("board_query_reads_total", {"board": "global"}, 1),
            ("fallback_reads_total", {"reads_by": "function", "cause": "disabled"}, 1),
            ("window_overdue", {"window_name": "cup:1"}, 1),
            ("window_overdue", {"window_name": "kills/cup:1"}, 1),
            ("window_overdue", {"window_name": "daily"}, 0),
            ("window_overdue", {"window_name": "kills/weekly"}, 0),
            ("anomaly_unreviewed", {"limit_name": "cheats"}, 1),
            ("subscription_stalled", {"subscription": "away"}, 1),
            ("subscription_conflict", {"subscription": "away"}, 0),
            ("server_in_recovery", {}, 0),
            ("server_launcher_running", {}, 1),
            ("database_backlog", {}, 0)]:
        of = server if name.startswith("server") else here
        t.is_(m.of(f"leaderboard_{name}", **labels, **of), expected, f"{name} {labels}: {expected}")
    for name, least in [("server_history_bytes", 1), ("server_memory_used_bytes", 2048),
                        ("database_memory_used_bytes", 2048), ("board_bytes", 2048)]:
        labels = {"board": "global"} if name == "board_bytes" else {}
        of = server if name.startswith("server") else here
        value = m.of(f"leaderboard_{name}", **labels, **of)
        t.ok(isinstance(value, float) and value >= least, f"{name}: {value}")
    t.is_(m.of("leaderboard_server_in_recovery", **there), 1, "the standby is one")
    t.is_(m.of("leaderboard_board_offline", board="global", datname="monitoring", **there), 0,
          "and not offline by fault")
    t.is_(m.of("leaderboard_board_members", board="global", datname="shop", **server), 0,
          "another database has its own metrics")
    lag = m.of("leaderboard_standby_lag_seconds", application_name="standby", **server)
    t.ok(isinstance(lag, float), f"its lag is known: {lag}")


def check_names(t, m, title, expressions):
    """All metrics of the expressions are there, and have the type that they are used as."""
    unknown, wrong = set(), set()
    for expression in expressions:
        rated = set(re.findall(r"rate\((leaderboard_\w+)", expression))
        for name in re.findall(r"leaderboard_\w+", expression):
            if name not in m.types:
                unknown.add(name)
            elif (name in rated) != (m.types[name] == "counter"):
                wrong.add(name)
    t.ok(len(expressions) > 10, f"{title}: {len(expressions)} expressions")
    t.is_(unknown, set(), f"{title}: the exporter shows all metrics")
    t.is_(wrong, set(), f"{title}: rates are of counters, and all else is of gauges")


def promtool(t, title, *args):
    done = subprocess.run(["promtool", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t.ok(done.returncode == 0, title, done.stdout)


def check_rules(t, m, tree):
    with open(f"{tree}/examples/monitoring/rules.yaml", encoding="utf8") as file:
        text = file.read()
    # An expression ends where the next key begins.
    check_names(t, m, "rules", re.findall(r"^ +expr: (.*?)^ +for:", text, re.M | re.S))
    promtool(t, "promtool check rules", "check", "rules", f"{tree}/examples/monitoring/rules.yaml")
    promtool(t, "promtool check config", "check", "config", f"{tree}/examples/monitoring/prometheus.yaml")
    promtool(t, "promtool test rules", "test", "rules", f"{tree}/test/monitoring/rules.test.yaml")
    with open(f"{tree}/test/monitoring/rules.test.yaml", encoding="utf8") as file:
        tested = set(re.findall(r"alertname: (\w+)\n *eval_time: \w+\n *exp_alerts:", file.read()))
    t.is_(set(re.findall(r"alert: (\w+)", text)) - tested, set(), "each alert has a test that raises it")


def check_dashboard(t, m, tree):
    with open(f"{tree}/examples/monitoring/dashboard.json", encoding="utf8") as file:
        dashboard = json.load(file)
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    check_names(t, m, "dashboard", expressions)
    variables = {v["name"] for v in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(dashboard))) - {"__rate_interval"}
    t.is_(used, variables, "the dashboard uses the variables that it has")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as rules:
        # As rules, which promtool can read.
        json.dump({"groups": [{"name": "panels", "rules": [
            {"record": f"panel:{i}", "expr": re.sub(r"\$__rate_interval", "5m", e)}
            for i, e in enumerate(expressions)]}]}, rules)
        rules.flush()
        promtool(t, "the dashboard's expressions are PromQL", "check", "rules", rules.name)
    shown = set(re.findall(r"leaderboard_\w+", " ".join(expressions)))
    exported = {name for name in m.types if name.startswith("leaderboard_")}
    t.ok(len(exported & shown) >= 18, f"the dashboard shows {len(exported & shown)} of {len(exported)} metrics")


def check_all(t, tree, primary, standby):
    for read in READS:
        sql(primary, read)
    t.is_(sql(primary, "SELECT string_agg(problem, ',') FROM lb_verify() WHERE board <> 'off'"), "",
          "the boards are right")
    # The standby has replayed all of this.
    sql(standby, "SELECT 1")
    end = sql(primary, "SELECT pg_current_wal_flush_lsn()")
    while sql(standby, f"SELECT pg_last_wal_replay_lsn() >= '{end}'") != "t":
        time.sleep(0.1)
    m = Metrics("".join(scrape(f"{tree}/examples/monitoring/queries.yaml", d) for d in (primary, standby)))
    t.is_([v for n, _, v in m.values if n == "pg_exporter_last_scrape_error"], [0, 0],
          "the exporters have no errors")
    check_values(t, m, primary, standby)
    check_rules(t, m, tree)
    check_dashboard(t, m, tree)


def main():
    tree, primary, standby = sys.argv[1:]
    t = Tap()
    sql(primary, role_of_page(tree))
    sql(primary, "CREATE DATABASE shop TEMPLATE monitoring", r"\c shop", "SELECT lb_wait_ready()")
    sql(primary, *(s for s in SCENARIO.split(";\n") if s.strip()))
    with old_snapshot(primary) as session:
        sql(primary, "UPDATE player_scores SET score = score + 1")
        check_all(t, tree, primary, standby)
        session.stdin.close()
    print(f"1..{t.count}")
    return 1 if t.failed else 0


if __name__ == "__main__":
    sys.exit(main())
