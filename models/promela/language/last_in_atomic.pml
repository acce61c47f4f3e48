// Inside atomic each statement counts for _last.
//
// expect: states=9 transitions=10 verdict=violated violation="assertion violated"

byte x;
active proctype A() { skip }
active proctype B() {
	atomic {
		x = 1;
		if
		:: _last == 1 -> assert(false)
		:: else
		fi
	}
}
