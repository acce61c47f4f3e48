// What stands behind `unless` is a receive that compares with a variable. Setting the variable takes
// the step before it away, so a reduction must know that the two steps get in each other's way.
// expect: states=13 transitions=14 verdict=violated violation="assertion violated"
byte x;
chan c = [2] of { byte };

active proctype Setter() { x = 1 }
active proctype Sender() {
	c!1;
	{ c!1 } unless { c?eval(x); assert(false) }
}
