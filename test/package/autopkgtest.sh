#!/bin/bash
#
# autopkgtest.sh PACKAGE SOURCE
#	Runs the tests that the package has for Debian, debian/tests, on the installed
#	package.  In root.sh.
#
set -eu

export DEBIAN_FRONTEND=noninteractive
{
	apt-get -q -y update
	apt-get -q -y install --no-install-recommends autopkgtest
} >/run/log 2>&1 || { cat /run/log; exit 1; }
cd /run
autopkgtest --no-built-binaries "$1" "$2" -- null
