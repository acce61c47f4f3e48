// switch with cases that fall through, a default, in a loop.
//
// expect: states=763 transitions=1121 verdict=holds

mtype = { red, green, blue };
byte kind, out;

active proctype P() {
	do
	:: kind < 6 ->
		c_code {
			int i;
			for (i = 0; i < 2; i++) {
				switch (now.kind) {
				case 1:
					now.out += 3;
					break;
				case 2:
				case 3:
					now.out += 2;
					break;
				case 4:
					now.out++;
				default:
					now.out++;
				}
			}
		};
		kind++
	:: else -> break
	od;
	assert(out > 0)
}
active proctype Q() {
	c_code { now.kind = 4; };
	c_code { now.kind = now.kind & 3; }
}
