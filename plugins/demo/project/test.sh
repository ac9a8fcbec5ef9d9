#!/bin/sh
# The tests: sh test.sh

. "$(dirname "$0")/lib/receipt.sh"

failed=0
check() { # NAME EXPECTED ACTUAL
  if [ "$2" = "$3" ]; then
    echo "ok   $1"
  else
    echo "FAIL $1: expected $2, got $3"
    failed=$((failed + 1))
  fi
}

check "whole amounts" 7.00 "$(printf '2 3 tea\n1 1 milk\n' | total)"
check "two decimals" 3.25 "$(printf '1 3.25 bread\n' | total)"
check "no discount below 100.00" 99.99 "$(printf '1 99.99 lamp\n' | total)"
check "discount from 100.00 on" 90.00 "$(printf '4 12.5 cheese\n5 10 wine\n' | total)"

[ "$failed" -eq 0 ] && echo "all tests passed"
exit "$failed"
