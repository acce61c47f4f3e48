// Named sets of messages are numbered by themselves.
//
// expect: states=6 transitions=5 verdict=holds

mtype = { red, green };
mtype:fruit = { apple, pear, plum };
mtype colour = red;
mtype:fruit basket;
chan q = [1] of { mtype:fruit, mtype };
active proctype P() {
	assert(red == 2 && apple == 3 && plum == 1);
	q!pear,green;
	q?basket,colour;
	assert(basket == 2 && colour == 1)
}
