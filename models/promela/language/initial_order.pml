// Globals are initialised type by type, bits before bytes: the bit sees the byte as zero. Locals are
// initialised in the order of the text.
//
// expect: states=3 transitions=2 verdict=holds

byte b = 5;
bit t = b;
int i = b + 1;
byte c = b + 1;
active proctype P() {
	byte x = c;
	byte y = x + 1;
	assert(i == 6 && c == 6 && t == 0 && x == 6 && y == 7)
}
