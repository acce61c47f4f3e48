// A claim may look at places and variables of processes.
//
// expect: states=5 transitions=4 verdict=holds

byte x;
active proctype P() {
	byte mine = 3;
start:	x = 1;
	goto middle;
	x = 9;
middle:	goto last;
	x = 9;
last:	mine = 4
}
never {
	do
	:: P[0]@middle && P[0]:mine == 4 -> break
	:: P@last
	:: else
	od
}
