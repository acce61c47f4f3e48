// A condition in C is never true, and the processes wait for ever.
//
// expect: states=13 transitions=15 verdict=violated violation="invalid end state"

short balance = 10;

active [2] proctype Debit() {
	c_expr { now.balance >= 7 } -> c_code { now.balance -= 7; }
}
