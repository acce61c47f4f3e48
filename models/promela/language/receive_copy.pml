// q?<x> reads a message and leaves it.
//
// expect: states=10 transitions=9 verdict=holds

chan q = [2] of { byte, byte };
active proctype P() {
	byte x, y;
	q!1,7; q!2,8;
	q?<x,y>; assert(x == 1 && y == 7 && len(q) == 2);
	q??<2,y>; assert(y == 8 && len(q) == 2);
	q?1,y; assert(len(q) == 1)
}
