# A receipt: lines "QUANTITY PRICE NAME" on standard input, the total on standard output.

. "$(dirname "$0")/lib/money.sh"

# total: sums the lines; orders of 100.00 and more get 10 % off
total() {
  sum=0
  while read -r quantity price name; do
    sum=$((sum + quantity * $(to_cents "$price")))
  done
  if [ "$sum" -gt 10000 ]; then
    sum=$((sum * 90 / 100))
  fi
  from_cents "$sum"
}
