# leaderboard: an order-statistic index for PostgreSQL.
#
# On your own server (PGXS):
#
#   make                    build the library; WERROR=1 makes warnings errors
#   make install            install it; shared_preload_libraries = 'leaderboard'
#   make installcheck       regression and isolation tests, on a running server
#                           that preloads the library (PGHOST, PGPORT, PGUSER)
#   make uninstall, make clean
#
#   CITUS=no leaves out what serves tables that Citus distributes: their boards are then
#                           read by queries.  Tests take it, too.
#   PG_CONFIG=/path/to/pg_config chooses the server.  A build outside the tree
#   works: make -f /path/to/leaderboard/Makefile
#
# On any machine (Debian 12, as root or with sudo; on other systems the targets
# say what is missing).  These targets install the packages that they need, and
# change nothing else: they build in a temporary directory, and install into a
# private copy of PostgreSQL there.
#
#   make check              the inner loop, two minutes: it compiles, runs short
#                           unit tests, pg_regress, isolation, a short oracle and
#                           the tests that read the sources
#   make test               every test, with one summary
#                           TESTS="unit regress" runs only these parts,
#                           TESTS=list names them; SECONDS, SEED as below
#                           TAP="002 036" runs only these files of the part tap
#                           PG_MAJOR=15 is the version to install
#   make test-versions      the same on other versions, each in a chroot with the
#                           release of Debian that has it, removed afterwards.
#                           As root; needs debootstrap, 3 GB of TMPDIR and up to
#                           half an hour
#                           VERSIONS="17 18 19"; TESTS, TAP, MIRROR=Debian's mirror
#   make test-bare          make demo and make test on a bare Debian 12: a chroot with
#                           nothing but make and git, removed afterwards.  As root;
#                           needs debootstrap, 4 GB of TMPDIR and an hour
#                           TESTS, PLAYERS, MIRROR
#   make test-cassert       the same on a server that checks its assertions, built
#                           from Debian's source package
#                           CASSERT_DIR=DIR keeps that server; TESTS, MIRROR
#                           These scripts exit with 1 if a test fails, and with 77
#                           if none fails but a server is not available
#                           ("Error 77" in make's last line)
#   make test-packages      make dist, make deb, lintian; installs, upgrades and purges
#                           the package in a copy of this machine that ends with the
#                           test, as root or with sudo; and there the tests that
#                           Debian runs, and what Dockerfile and compose.yaml say
#   make test-core          PostgreSQL's own regression and isolation tests, built
#                           from Debian's source package, on a server that
#                           preloads the library, in databases with the extension
#                           The regression tests run again with boards on their
#                           tables, and return what they return without: ten minutes
#                           CORE_DIR=DIR keeps source and server; MIRROR
#   make deb                builds Debian's package, with debhelper and pg_buildext
#                           PG_MAJOR=15, DEB_DIR=deb is where it goes
#   make dist               the archive for PGXN, leaderboard-VERSION.zip, of what is
#                           committed in git
#   make demo               starts a server with a million players, and a live page
#                           PLAYERS=1000000, or CSV=file with player_id,score;
#                           STANDBY=yes also shows a standby that takes over
#   make demo-stop          stops it and removes everything
#   make demo-cluster       starts four servers that share a million players, and one
#                           that asks them by PL/Proxy: docs/scale-out.md
#                           PLAYERS=1000000
#   make demo-cluster-stop  stops them and removes everything
#   make import-redis       copies sorted sets of Redis: docs/from-redis.md
#                           REDIS=redis://localhost KEYS='*' DO=add (compare, repair);
#                           PGHOST, PGDATABASE and the like say where to
#   make oracle             random transactions on 8 connections; compares the
#                           functions with their defining queries all the time
#                           SECONDS=20 CONNECTIONS=8 TRANSACTIONS=0 SEED=random
#   make plan-times         random queries on tables of 300,000 rows: prints those that
#                           take more than three times as long as without boards
#                           SECONDS=20 SIZE=300000 SEED=random
#   make soak               the same in all modes in turn, for any time, with
#                           killed backends and assertions
#                           SECONDS=3600 CONNECTIONS=8 SEED=random
#   make citus-oracle       random writes on tables that Citus distributes, while shards
#                           are moved and split, and servers killed; then compares.
#                           Where PG_CONFIG's server has Citus: ten minutes
#                           COMPARISONS=100000 SEED=random
#   make chaos              random transactions on 8 connections, while another
#                           program terminates and kills processes, cancels,
#                           reloads settings, rewrites tables, copies databases,
#                           exhausts memory, and more.  Compares every answer
#                           SECONDS=600 CONNECTIONS=8 SEED=random
#   make faults             each call that can run out of memory does so once, in
#                           turn, in a scenario that uses every function
#                           EVERY=1 (7: every seventh call only) SEED=random
#   make sqlsmith           random statements on a database with boards, as a
#                           superuser and as an ordinary role: no crash, and no
#                           internal error of the library
#                           STATEMENTS=50000 SEED=random
#   make test-load          64 connections submit, while all processes of the server
#                           are killed every minute: no acknowledged submit is lost,
#                           and ranks are right after each restart
#                           SECONDS=1800 CONNECTIONS=64 SEED=random
#   make bench              measures the figures of docs/performance.md
#                           SIZE=10000000 SECONDS=6 ROUNDS=5 OUT=file,
#                           AWAKE=no (see docs/peers.md);
#                           SIZE=100000 SECONDS=2 takes two minutes
#   make bench-peers        the same beside Redis, Valkey, a B-tree, a materialized
#                           view and counts that a trigger keeps, with plots:
#                           an hour.  SIZE=10000000 SECONDS=5 ROUNDS=3 OUT=file
#                           SIZES="1000 10000 ..." CLIENTS="1 2 4 ..." BOARDS=100000
#                           LARGE=100000000 (a board of that size as well),
#                           VALKEY_DIR=DIR keeps the chroot of Valkey;
#                           SIZE=100000 SECONDS=0.3 takes two minutes or three
#   make bench-keys         memory, builds, ranks and updates of boards of bigint,
#                           uuids and texts, beside Valkey: half an hour.
#                           SIZE=10000000 SECONDS=5 ROUNDS=5 OUT=file, VALKEY_DIR=DIR
#                           as above; SIZE=100000 SECONDS=0.3 takes two minutes
#   make bench-sql          plain SQL that boards answer, beside look-ups by primary
#                           key, and pgbench and planning beside a server without
#                           the library: ten minutes
#                           SIZE=10000000 SECONDS=1 ROUNDS=10 OUT=file;
#                           SIZE=100000 SECONDS=0.3 ROUNDS=3 takes a minute
#   make bench-citus        reads and updates of a table that Citus distributes, on three
#                           servers of this machine: two minutes, where PG_CONFIG's
#                           server has Citus.  SIZE=4000000 SHARDS=8 SECONDS=2 ROUNDS=5
#                           OUT=file
#   make bench-boards       creates and drops thousands of boards on one table; a
#                           minute.  BOARDS=8000, SIZE=30000 boards of a family,
#                           OUT=file
#   make bench-own          reads of transactions that have changed many rows, for
#                           docs/performance.md: two minutes
#                           SIZE=1000000 ROUNDS=5 OUT=file
#   make bench-prepared     commits and ranks beside open prepared and running
#                           transactions, for docs/performance.md: ten minutes
#                           SIZE=1000000 ROUNDS=5 OUT=file
#   make bench-standby      ranks on a standby, what feeding it costs a primary, replay
#                           and promotion, for docs/performance.md: ten minutes
#                           SIZE=10000000 ROUNDS=5 OUT=file
#   make bench-beside       ranks on a server that cannot load the library, by foreign tables over
#                           a small server's boards, and their lag, for docs/performance.md: ten
#                           minutes.  SIZE=10000000 ROUNDS=5 OUT=file
#   make bench-counts       boards that keep counts, for docs/performance.md: memory,
#                           builds, ranks and updates; a quarter of an hour
#                           SIZE=10000000 BIG=500000000 ROUNDS=5 OUT=file
#   make bench-expressions  boards on expressions, beside boards on stored columns, for
#                           docs/performance.md: ten minutes
#                           SIZE=10000000 ROUNDS=5 OUT=file
#   make bench-queue        submits through examples/queue, beside the broker alone, for
#                           docs/performance.md: ten minutes
#                           SIZE=1000000 SUBMITS=200000 ROUNDS=5 OUT=file
#   make bench-quick        counts the instructions of the data structure, beside
#                           the committed figures: less than a minute, and the
#                           same result on a busy machine
#                           WRITE=yes makes the new figures the committed ones
#   make bench-profile      where the time of the hot paths goes, for
#                           docs/internals.md; as root also how long locks are held
#                           SIZE=1000000 SECONDS=5 ROUNDS=3 OUT=file

EXTENSION = leaderboard
MODULE_big = leaderboard

# make and PGXS do not distinguish a blank in a name from one between two names.
ifneq ($(words $(CURDIR))$(wildcard $(lastword $(MAKEFILE_LIST))),1$(lastword $(MAKEFILE_LIST)))
$(error there is a blank in the path of this tree, or of the directory to build in: $(strip $(MAKEFILE_LIST)), $(CURDIR))
endif

# The folder of this file.  A build outside the tree runs make in another one.
TREE := $(patsubst %/,%,$(dir $(abspath $(firstword $(MAKEFILE_LIST)))))

# The control file alone has the version.
LB_VERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" $(TREE)/leaderboard.control)

# Scripts, which need no PostgreSQL to start: they install it.
SCRIPT_TARGETS = check test test-versions test-bare test-cassert test-core test-packages deb dist \
	demo demo-stop demo-cluster demo-cluster-stop import-redis oracle plan-times citus-oracle soak chaos faults sqlsmith test-load \
	bench bench-peers bench-profile bench-own bench-prepared \
	bench-keys bench-sql bench-boards bench-citus bench-standby bench-beside bench-counts bench-expressions bench-queue \
	bench-quick
.PHONY: $(SCRIPT_TARGETS)

# Goals that need PGXS; a plain "make" is one of them.
PGXS_GOALS := $(or $(filter-out $(SCRIPT_TARGETS),$(MAKECMDGOALS)),$(if $(MAKECMDGOALS),,all))

# Without this first target, a plain "make" would run the first script.
all:

# PGXS has a target of this name too, which only prints a message.
ifeq ($(PGXS_GOALS),)
check:
	@SHORT=yes RUN_SECONDS=$${RUN_SECONDS:-10} TAP="027_names 036_layers 037_docs 041_release" \
		$(TREE)/test/lib/run-tests.sh build unit regress isolation oracle tap
endif

test:
	@$(TREE)/test/lib/run-tests.sh $(TESTS)

test-versions test-bare test-cassert: export TESTS := $(TESTS)
test-versions test-bare test-cassert:
	@$(TREE)/test/lib/$@.sh

test-core:
	@$(TREE)/test/lib/test-core.sh

test-packages:
	@$(TREE)/test/lib/run-tests.sh deb autopkgtest docker

deb:
	@$(TREE)/test/package/build.sh

dist:
	git -C $(TREE) archive --prefix=leaderboard-$(LB_VERSION)/ \
		-o $(CURDIR)/leaderboard-$(LB_VERSION).zip HEAD

oracle:
	@$(TREE)/test/lib/run-tests.sh oracle

plan-times:
	@$(TREE)/test/lib/run-tests.sh times

citus-oracle:
	@TAP=010 COMPARISONS=$${COMPARISONS:-100000} $(TREE)/test/lib/run-tests.sh citus

soak:
	@$(TREE)/test/lib/run-tests.sh soak

chaos:
	@RUN_SECONDS=$${RUN_SECONDS:-600} $(TREE)/test/lib/run-tests.sh chaos

sqlsmith:
	@STATEMENTS=$${STATEMENTS:-50000} $(TREE)/test/lib/run-tests.sh sqlsmith

test-load:
	@RUN_SECONDS=$${RUN_SECONDS:-1800} $(TREE)/test/lib/run-tests.sh load

faults:
	@EVERY=$${EVERY:-1} $(TREE)/test/lib/run-tests.sh faults

demo:
	@$(TREE)/test/demo/demo.sh start

demo-stop:
	@$(TREE)/test/demo/demo.sh stop

demo-cluster:
	@$(TREE)/test/demo/cluster.sh start

demo-cluster-stop:
	@$(TREE)/test/demo/cluster.sh stop

import-redis:
	@$(TREE)/examples/redis/import.py --redis "$(or $(REDIS),redis://localhost)" --keys "$(or $(KEYS),*)" $(DO)

bench:
	@$(TREE)/test/bench/bench.sh

bench-keys:
	@$(TREE)/test/bench/keys.sh

bench-sql:
	@$(TREE)/test/bench/sql.sh

bench-boards:
	@$(TREE)/test/bench/boards.sh

bench-citus:
	@$(TREE)/test/bench/citus.sh

bench-peers:
	@$(TREE)/test/bench/peers.sh

bench-profile:
	@$(TREE)/test/bench/profile.sh

bench-own:
	@$(TREE)/test/bench/own.sh

bench-prepared:
	@$(TREE)/test/bench/prepared.sh

bench-standby:
	@$(TREE)/test/bench/standby.sh

bench-beside:
	@$(TREE)/test/bench/beside.sh

bench-counts:
	@$(TREE)/test/bench/counts.sh

bench-expressions:
	@$(TREE)/test/bench/expressions.sh

bench-queue:
	@$(TREE)/test/bench/queue.sh

bench-quick:
	@$(TREE)/test/bench/quick.sh

# The scripts read their parameters from the environment.  SECONDS is a special
# variable of bash, so it gets another name.
export PLAYERS CSV SIZE BIG ROUNDS OUT SEED CONNECTIONS TRANSACTIONS COMPARISONS EVERY STATEMENTS
export SIZES SHARDS CLIENTS BOARDS LARGE VALKEY_DIR WRITE CITUS
export TAP PG_MAJOR VERSIONS MIRROR CASSERT_DIR CORE_DIR DEB_DIR
ifneq ($(origin SECONDS),undefined)
export RUN_SECONDS = $(SECONDS)
endif
# Without PG_CONFIG, the scripts find a server themselves.
ifneq ($(filter $(origin PG_CONFIG),command line environment),)
export PG_CONFIG
endif

# The rest needs PGXS.  Skip it if all goals are scripts.
ifneq ($(PGXS_GOALS),)

local = $(patsubst $(TREE)/%,%,$(wildcard $(TREE)/$(1)))

# The folders of src are layers: src/README.
FOLDERS = $(sort $(patsubst %/,%,$(dir $(call local,src/*.c) $(call local,src/*/*.c))))
OBJS = $(patsubst %.c,%.o,$(foreach folder,$(FOLDERS),$(call local,$(folder)/*.c)))

# CITUS=no leaves out src/citus, which serves tables that Citus distributes.
ifeq ($(CITUS),no)
OBJS := $(filter-out src/citus/%,$(OBJS)) src/citus/none.o
else
OBJS := $(filter-out src/citus/none.o,$(OBJS))
endif
DATA = $(call local,sql/leaderboard--*.sql)

REGRESS = $(patsubst sql/%.sql,%,$(filter-out $(DATA),$(call local,sql/*.sql)))
ISOLATION = $(patsubst test/isolation/specs/%.spec,%,$(call local,test/isolation/specs/*.spec))
ISOLATION_OPTS = --inputdir=$(TREE)/test/isolation

# A library whose allocations tests can make fail: test/fault/fault.c.
ifdef LB_FAULTS
OBJS += test/fault/fault.o
SHLIB_LINK += -Wl,@$(TREE)/test/fault/wrap.opts
endif

PG_CPPFLAGS = -I$(TREE)/src -DLB_VERSION='"$(LB_VERSION)"'
# PostgreSQL's headers and callbacks have unused parameters.
# SQL rounds each product of floating-point numbers, and so do we: bounds of histograms
# would differ where the processor has a fused multiply-add.
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -ffp-contract=off
ifdef WERROR
PG_CFLAGS += -Werror
endif

EXTRA_CLEAN = .deps test/unit/build $(addprefix test/client/,oracle/oracle chaos faults load protocol) \
	test/bench/client test/fault/fault.o examples/c/tour

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq ($(wildcard $(PGXS)),)
$(error no PGXS: install postgresql-server-dev-15, or set PG_CONFIG to the pg_config of a server with its development files)
endif
# src/index includes no pg_config.h.
ifneq ($(findstring --enable-cassert,$(shell $(PG_CONFIG) --configure)),)
PG_CPPFLAGS += -DUSE_ASSERT_CHECKING
endif
# PGXS finds the sources by itself, but sets VPATH only if PostgreSQL was built
# outside its tree.
ifneq ($(CURDIR),$(TREE))
VPATH = $(TREE)
endif
include $(PGXS)
override BITCODE_CFLAGS += -ffp-contract=off
# Clang compiles the sources, too: to bitcode.
ifdef WERROR
override BITCODE_CFLAGS += -Wall -Wextra -Wno-unused-parameter -Wno-unknown-warning-option -Werror
endif

# Calls between our own files need no symbol that another library could replace.
# From version 16 on PostgreSQL hides a module's symbols itself.
ifeq ($(PORTNAME),linux)
override CFLAGS += -fno-semantic-interposition
SHLIB_LINK += -Wl,-Bsymbolic
endif

# PGXS tracks no headers, and a build outside the tree needs the folders.
$(OBJS) $(OBJS:.o=.bc): $(wildcard $(TREE)/src/*/*.h) $(TREE)/leaderboard.control
$(OBJS) $(OBJS:.o=.bc): | $(addprefix $(CURDIR)/,$(FOLDERS) test/fault)
$(addprefix $(CURDIR)/,$(FOLDERS) test/fault):
	mkdir -p $@

endif
