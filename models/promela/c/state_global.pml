// c_state puts a variable of C into the state: a structure, with an initial value beside it.
//
// expect: states=84 transitions=131 verdict=violated violation="invalid end state"

c_decl {
	typedef struct Coord {
		int x, y;
	} Coord;
}
c_state "Coord pt" "Global"
c_state "short turn" "Global" "2"

active proctype Mover() {
	do
	:: c_expr { now.pt.x < 3 } -> c_code { now.pt.x++; }
	:: c_expr { now.pt.y < 3 && now.turn == 2 } -> c_code { now.pt.y += 1; }
	:: c_expr { now.pt.x == 3 && now.pt.y == 3 } -> break
	od;
	c_expr { now.pt.x + now.pt.y == 6 };
	c_code { now.turn = 7; }
}
active proctype Jumper() {
	c_expr { now.pt.x == now.pt.y && now.pt.x > 0 };
	c_code { now.pt.x = 3; now.pt.y = 3; }
}
