// Leader election in a ring (Dolev, Klawe, Rodeh; Peterson): in the end there is exactly one leader.
//
// expect: elected=holds unique=holds stays=holds wrong=violated
// expect weak: elected=holds unique=holds stays=holds wrong=violated

#define N 3
#define L 6

mtype = { one, two, winner };
chan q[N] = [L] of { mtype, byte };
byte leaders;

proctype Node(chan in, out; byte mine) {
	bool active_ = true, knows = false;
	byte nr, maximum = mine, neighbour;
	out!one(mine);
end:	do
	::	in?one(nr) ->
		if
		:: active_ ->
			if
			:: nr != maximum -> out!two(nr); neighbour = nr
			:: else -> knows = true; out!winner(nr)
			fi
		:: else -> out!one(nr)
		fi
	::	in?two(nr) ->
		if
		:: active_ ->
			if
			:: neighbour > nr && neighbour > maximum -> maximum = neighbour; out!one(neighbour)
			:: else -> active_ = false
			fi
		:: else -> out!two(nr)
		fi
	::	in?winner(nr) ->
		if
		:: nr != mine
		:: else -> leaders++
		fi;
		if
		:: knows
		:: else -> out!winner(nr)
		fi;
		break
	od
}

init {
	atomic {
		run Node(q[0], q[1], 2);
		run Node(q[1], q[2], 3);
		run Node(q[2], q[0], 1)
	}
}

ltl elected { <> (leaders == 1) }
ltl unique { [] (leaders <= 1) }
ltl stays { [] (leaders == 1 -> [] (leaders == 1)) }
ltl wrong { [] (leaders == 0) }
