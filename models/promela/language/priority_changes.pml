// Priorities can be read and changed.
//
// expect: states=10 transitions=9 verdict=violated violation="assertion violated"

byte x;
active proctype A() priority 2 {
	assert(_priority == 2 && get_priority(1) == 3);
	x = 1
}
active proctype B() priority 3 {
	x = 5;
	set_priority(0, 9);
	x = 6;
	_priority = 1;
	x = 7
}
