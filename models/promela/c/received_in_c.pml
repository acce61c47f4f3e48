// What is received is used in C, by two kinds of processes.
//
// expect: states=12 transitions=13 verdict=holds

chan q = [2] of { byte };
byte y;
active proctype A() { q!1; q!2 }
active proctype B() { byte v; q?v; c_code { now.y += PB->v; }; q?v; c_code { now.y += PB->v; }; assert(c_expr { now.y == 3 }) }
