// Arrays of the model and of C, of one and of two dimensions, with constant tables.
//
// expect: states=697 transitions=1003 verdict=holds

c_decl {
	const int step[4] = { 1, 0, -1, 0 };
	typedef struct Grid { unsigned char cell[3][3]; } Grid;
}
c_state "Grid grid" "Global"

byte x, y, dir;

active proctype Walker() {
	do
	:: c_expr { now.grid.cell[now.y][now.x] < 2 } ->
		c_code {
			int nx = now.x + step[now.dir], ny = now.y + step[(now.dir + 3) % 4];
			now.grid.cell[now.y][now.x]++;
			if (nx >= 0 && nx < 3 && ny >= 0 && ny < 3) {
				now.x = nx;
				now.y = ny;
			} else {
				now.dir = (now.dir + 1) % 4;
			}
		}
	:: c_expr { now.grid.cell[now.y][now.x] >= 2 } -> break
	od
}
active proctype Turner() {
	dir = 1;
	dir = 2
}
