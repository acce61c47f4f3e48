// run P() priority n; without it, the new process has priority 1.
//
// expect: states=23 transitions=24 verdict=holds

byte order[3];
byte k;
proctype P(byte me) {
	order[k] = me; k++
}
init priority 10 {
	run P(1) priority 2;
	run P(2) priority 3;
	run P(3);
	_priority = 1;
	k == 3;
	assert(order[0] == 2 && order[1] == 1 && order[2] == 3)
}
