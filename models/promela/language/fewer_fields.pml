// A poll and a copy match the fields that are given. A receive or a send with missing fields is wrong only
// where it is executed: here the channel is empty, full, or holds a message that does not match.
//
// expect: states=12 transitions=11 verdict=holds

mtype = { red, green };
chan q = [1] of { mtype, byte };
chan r = [0] of { byte, byte };
byte x, y;
active proctype P() {
	assert(!q?[red] && !q??[red]);
	if
	:: q?x -> assert(false)
	:: r?x -> assert(false)
	:: else
	fi;
	q!red,3;
	if
	:: q!green -> assert(false)
	:: q!!green -> assert(false)
	:: q?green -> assert(false)
	:: q??green -> assert(false)
	:: q?eval(x + 7) -> assert(false)
	:: else
	fi;
	assert(q?[red] && !q?[green] && q??[red] && q?[_] && q?[x] && q?[eval(x + 2)]);
	q?<x>;
	q??<red>;
	assert(x == red && len(q) == 1);
	q?x,y;
	assert(y == 3)
}
