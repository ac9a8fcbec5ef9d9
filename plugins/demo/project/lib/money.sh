# Money in cents, so that nothing is ever rounded by accident.

# to_cents AMOUNT: 12.5 -> 1250, 3 -> 300, 0.05 -> 5
to_cents() {
  whole=${1%%.*}
  case $1 in
    *.*) fraction=${1#*.} ;;
    *) fraction=00 ;;
  esac
  echo $((whole * 100 + ${fraction#0}))
}

# from_cents CENTS: 1250 -> 12.50
from_cents() {
  printf '%d.%02d\n' $(($1 / 100)) $(($1 % 100))
}
