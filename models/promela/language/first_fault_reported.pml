// An assertion that fails in a step that then goes wrong for another reason is what is reported: it came first.
//
// expect: states=1 transitions=0 verdict=violated violation="assertion violated"

byte x;
chan q = [1] of { byte };
active proctype P() {
	d_step {
		assert(x == 1);
		q?x
	}
}
