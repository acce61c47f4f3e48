// An atomic sequence that waits in its middle does not reach its later statements, so it leaves
// `x` at 2, although it would store 1 in the end. If it runs before B, no process sees the 2.
// expect: states=9 transitions=8 verdict=violated violation="assertion violated"
byte x, done;
chan c = [0] of { byte };

active proctype A() {
	atomic { x = 2; end: c?1; x = 1 }
}
active proctype B() { d_step { x = 1; done = 1 } }
active proctype Watch() { end: x == 2 && done -> assert(false) }
