// A d_step that blocks after its first statement is an error.
//
// expect: states=1 transitions=0 verdict=violated violation="block in d_step"

byte x;
active proctype P() {
	d_step { x = 1; x == 2; x = 3 }
}
