// printf and printm are steps that change nothing.
//
// expect: states=6 transitions=5 verdict=holds

mtype = { go, stop };
byte x = 7;
active proctype P() {
	mtype m = go;
	printf("x is %d, %u, %x, %o, %c, %e, 100%%\n", x, x, x, x, 'c', m);
	printm(m);
	printm(stop);
	printf("MSC: done\n")
}
