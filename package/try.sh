#!/bin/sh
# Runs in a clean Debian root: puts unsnarl there, and says how long it takes to the first explanation.
#   try.sh deb|tarball
set -eu
cd /tmp/try
began=$(date +%s.%N)
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
case $1 in
deb) apt-get -qq install -y --no-install-recommends ./unsnarl_*_amd64.deb >apt.log 2>&1 ;;
tarball)
    apt-get -qq install -y --no-install-recommends gcc libc6-dev >apt.log 2>&1
    tar -xzf unsnarl-*-x86_64-linux.tar.gz -C /usr/local --strip-components=1
    ;;
esac
installed=$(date +%s.%N)

expects() {
    status=$1
    shift
    code=0
    "$@" >>out.txt 2>&1 || code=$?
    [ "$code" = "$status" ] || { cat out.txt; echo "\`$*\` ended with $code, not with $status"; exit 1; }
}

unsnarl cc -g racy.c -o racy -pthread
expects 1 unsnarl record --until-failing 3 -- ./racy
expects 1 unsnarl explain
grep '^error: ' out.txt
explained=$(date +%s.%N)

unsnarl doctor | grep -q '^ok  *solver  *Z3' || { unsnarl doctor; exit 1; }
expects 1 unsnarl explain --engine invariants
unsnarl completions bash | grep -q _unsnarl
echo "$1: installed in $(awk "BEGIN { printf \"%.1f\", $installed - $began }") s," \
    "first explanation $(awk "BEGIN { printf \"%.1f\", $explained - $installed }") s later"
