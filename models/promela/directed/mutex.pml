// A mutual exclusion algorithm that does not exclude: both processes can pass all three tests. It is the
// model "Mutex" of the measurements of HSF-SPIN (2001), table 7.
//
// expect: states=429 transitions=858 verdict=violated violation="assertion violated"

byte x, y, z;
byte inside;

active [2] proctype User() {
	byte me = _pid + 1;
again:
	x = me;
	if
	:: y != 0 && y != me -> goto again
	:: y == 0 || y == me
	fi;
	z = me;
	if
	:: x != me -> goto again
	:: x == me
	fi;
	y = me;
	if
	:: z != me -> goto again
	:: z == me
	fi;
	inside++;
	assert(inside == 1);
	inside--;
	goto again
}
