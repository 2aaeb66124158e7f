# leaderboard: an order-statistic index for PostgreSQL.
#
# For a server that you have (PGXS):
#
#   make                    build the library; WERROR=1 makes warnings errors
#   make install            install it; shared_preload_libraries = 'leaderboard'
#   make installcheck       regression and isolation tests, on a running server
#                           that preloads the library (PGHOST, PGPORT, PGUSER)
#   make uninstall, make clean
#
#   PG_CONFIG=/path/to/pg_config chooses the server.  A build outside the tree
#   works: make -f /path/to/leaderboard/Makefile
#
# On a machine that has nothing yet (Debian 12, as root or with sudo; other
# systems are told what they lack).  These change nothing but the packages:
# they build in a temporary directory, and install there too, into a private
# copy of PostgreSQL.
#
#   make test               every test, one summary
#                           TESTS="unit regress" only these parts,
#                           TESTS=list names them; SECONDS, SEED as below
#                           PG_MAJOR=15 is the version that is installed
#   make test-versions      the same on other versions, each in a chroot with
#                           the release of Debian that has it, which is removed
#                           afterwards.  As root; needs debootstrap, 3 GB of
#                           TMPDIR and up to half an hour
#                           VERSIONS="17 18"; TESTS, MIRROR=Debian's mirror
#   make test-cassert       the same on a server that checks its assertions,
#                           built from Debian's source package
#                           CASSERT_DIR=DIR keeps that server; TESTS, MIRROR
#                           These scripts exit with 1 if a test has failed, and
#                           with 77 if nothing has but a server is not to be
#                           had ("Error 77" in make's last line)
#   make test-core          PostgreSQL's own regression and isolation tests, built
#                           from Debian's source package, on a server that
#                           preloads the library, in databases with the extension
#                           CORE_DIR=DIR keeps source and server; MIRROR
#   make demo               a server with a million players to play with
#                           PLAYERS=1000000, or CSV=file with player_id,score
#   make demo-stop          stops it and removes everything
#   make oracle             random transactions on 8 connections, and at every
#                           moment the functions against their defining queries
#                           SECONDS=20 CONNECTIONS=8 TRANSACTIONS=0 SEED=random
#   make soak               the same in all ways in turn, as long as one likes,
#                           with killed backends and assertions
#                           SECONDS=3600 CONNECTIONS=8 SEED=random
#   make chaos              random transactions on 8 connections while another
#                           program terminates and kills processes, cancels,
#                           reloads settings, rewrites tables, copies databases,
#                           has memory run short, and more.  Every answer compared
#                           SECONDS=600 CONNECTIONS=8 SEED=random
#   make faults             each call that can run out of memory does so once, in
#                           turn, through a scenario that touches every function
#                           EVERY=1 (7: every seventh call only) SEED=random
#   make sqlsmith           random statements against a database with boards, as
#                           superuser and as an ordinary role: no crash, and no
#                           internal error of ours.  STATEMENTS=50000 SEED=random
#   make test-load          64 connections submit while all processes of the server
#                           are killed every minute: nothing that was acknowledged
#                           is lost, and ranks are right after each restart
#                           SECONDS=1800 CONNECTIONS=64 SEED=random
#   make bench              measures what docs/performance.md says
#                           SIZE=10000000 SECONDS=6 ROUNDS=5 OUT=file,
#                           AWAKE=no (see docs/peers.md);
#                           SIZE=100000 SECONDS=2 takes two minutes
#   make bench-peers        the same beside Redis, Valkey, a B-tree, a materialized
#                           view and counts that a trigger keeps, with plots:
#                           an hour.  SIZE=10000000 SECONDS=5 ROUNDS=3 OUT=file
#                           SIZES="1000 10000 ..." CLIENTS="1 2 4 ..." BOARDS=100000
#                           LARGE=100000000 (a board of that size as well),
#                           VALKEY_DIR=DIR keeps the chroot that Valkey is in;
#                           SIZE=100000 SECONDS=0.3 takes two minutes or three
#   make bench-boards       makes and drops thousands of boards on one table; a minute
#                           BOARDS=8000, SIZE=30000 boards of a family, OUT=file
#   make bench-own          reads of transactions that have changed many rows, for
#                           docs/performance.md: two minutes
#                           SIZE=1000000 ROUNDS=5 OUT=file
#   make bench-quick        counts the instructions of the data structure, beside
#                           the committed figures: less than a minute, and the
#                           same on a busy machine
#                           WRITE=yes makes the new figures the committed ones
#   make bench-profile      where the time of the hot paths goes, for
#                           docs/internals.md; as root also how long locks are held
#                           SIZE=1000000 SECONDS=5 ROUNDS=3 OUT=file

EXTENSION = leaderboard
MODULE_big = leaderboard

# Neither make nor PGXS can tell a blank within a name from one between two.
ifneq ($(words $(CURDIR))$(wildcard $(lastword $(MAKEFILE_LIST))),1$(lastword $(MAKEFILE_LIST)))
$(error there is a blank in the path of this tree, or of the directory to build in: $(strip $(MAKEFILE_LIST)), $(CURDIR))
endif

# Where this file is, which is not where make runs in a build outside the tree.
TREE := $(patsubst %/,%,$(dir $(abspath $(firstword $(MAKEFILE_LIST)))))

# These are scripts that need no PostgreSQL to start: they install it.
SCRIPT_TARGETS = test test-versions test-cassert test-core demo demo-stop oracle \
	soak chaos faults sqlsmith test-load bench bench-peers bench-profile bench-own \
	bench-boards bench-quick
.PHONY: $(SCRIPT_TARGETS)

# An explicit target first, or a plain "make" would run the first script.
all:

test:
	@$(TREE)/test/lib/run-tests.sh $(TESTS)

test-versions test-cassert: export TESTS := $(TESTS)
test-versions test-cassert:
	@$(TREE)/test/lib/$@.sh

test-core:
	@$(TREE)/test/lib/test-core.sh

oracle:
	@$(TREE)/test/lib/run-tests.sh oracle

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

bench:
	@$(TREE)/test/bench/bench.sh

bench-boards:
	@$(TREE)/test/bench/boards.sh

bench-peers:
	@$(TREE)/test/bench/peers.sh

bench-profile:
	@$(TREE)/test/bench/profile.sh

bench-own:
	@$(TREE)/test/bench/own.sh

bench-quick:
	@$(TREE)/test/bench/quick.sh

# Parameters are looked for in the environment by the scripts.  SECONDS means
# something else to bash, so it goes by another name.
export PLAYERS CSV SIZE ROUNDS OUT SEED CONNECTIONS TRANSACTIONS EVERY STATEMENTS
export SIZES CLIENTS BOARDS LARGE VALKEY_DIR WRITE
export PG_MAJOR VERSIONS MIRROR CASSERT_DIR CORE_DIR
ifneq ($(origin SECONDS),undefined)
export RUN_SECONDS = $(SECONDS)
endif
# The scripts find a server of their own unless told which.
ifneq ($(filter $(origin PG_CONFIG),command line environment),)
export PG_CONFIG
endif

# What is left needs PGXS.  Leave it out where only scripts were asked for.
ifneq ($(or $(filter-out $(SCRIPT_TARGETS),$(MAKECMDGOALS)),$(if $(MAKECMDGOALS),,all)),)

# The version is written in the control file only.
LB_VERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" $(TREE)/leaderboard.control)

local = $(patsubst $(TREE)/%,%,$(wildcard $(TREE)/$(1)))

# A folder of src knows those below it only: src/README.
FOLDERS = $(sort $(patsubst %/,%,$(dir $(call local,src/*.c) $(call local,src/*/*.c))))
OBJS = $(patsubst %.c,%.o,$(foreach folder,$(FOLDERS),$(call local,$(folder)/*.c)))
DATA = $(call local,sql/leaderboard--*.sql)

REGRESS = $(patsubst sql/%.sql,%,$(filter-out $(DATA),$(call local,sql/*.sql)))
ISOLATION = $(patsubst test/isolation/specs/%.spec,%,$(call local,test/isolation/specs/*.spec))
ISOLATION_OPTS = --inputdir=$(TREE)/test/isolation

# A library whose memory can be made to run out: test/fault/fault.c.
ifdef LB_FAULTS
OBJS += test/fault/fault.o
SHLIB_LINK += -Wl,@$(TREE)/test/fault/wrap.opts
endif

PG_CPPFLAGS = -I$(TREE)/src -DLB_VERSION='"$(LB_VERSION)"'
# PostgreSQL's own headers have unused parameters, and so have callbacks.
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter
ifdef WERROR
PG_CFLAGS += -Werror
endif

EXTRA_CLEAN = .deps test/unit/build $(addprefix test/client/,oracle/oracle chaos faults load) \
	test/bench/client test/fault/fault.o

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq ($(wildcard $(PGXS)),)
$(error no PGXS: install postgresql-server-dev-15, or set PG_CONFIG to the pg_config of a server with its development files)
endif
# src/index includes no pg_config.h.
ifneq ($(findstring --enable-cassert,$(shell $(PG_CONFIG) --configure)),)
PG_CPPFLAGS += -DUSE_ASSERT_CHECKING
endif
# PGXS sees by itself where the sources are, but says so to make only if
# PostgreSQL too was built outside its tree.
ifneq ($(CURDIR),$(TREE))
VPATH = $(TREE)
endif
include $(PGXS)

# PGXS knows no headers, and outside the tree there are no folders to write to.
$(OBJS) $(OBJS:.o=.bc): $(wildcard $(TREE)/src/*/*.h) $(TREE)/leaderboard.control
$(OBJS) $(OBJS:.o=.bc): | $(addprefix $(CURDIR)/,$(FOLDERS) test/fault)
$(addprefix $(CURDIR)/,$(FOLDERS) test/fault):
	mkdir -p $@

endif
