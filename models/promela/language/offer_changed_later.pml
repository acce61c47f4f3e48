// The message of an offer is a variable that another process sets: only then does it match. Whether
// an offer is taken is a matter of the values on both sides.
// expect: states=11 transitions=12 verdict=violated violation="assertion violated"
byte x, taken;
chan c = [0] of { byte };

active proctype Setter() { x = 2 }
active proctype Sender() { end: c!x }
active proctype Taker() {
end:	if
	:: c?2 -> assert(taken)
	:: taken = 1
	fi
}
