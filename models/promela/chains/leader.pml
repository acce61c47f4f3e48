// Election on a one-way ring (Dolev, Klawe and Rodeh): who hears of a greater neighbour becomes a relay, and the greatest
// number comes back to one process, which tells the others.
//
// expect: states=498 transitions=1135 verdict=holds

#ifndef N
#define N 3
#endif

mtype = { first, second, elected };
chan link[N] = [2 * N] of { mtype, byte };
byte leaders;

proctype Station(chan from, to; byte number) {
	byte greatest = number, heard, left;
	bool relay, known;
	xr from;
	xs to;
	to!first(number);
	do
	:: from?first(heard) ->
		if
		:: relay -> to!first(heard)
		:: else ->
			if
			:: heard == greatest ->
				assert(heard == N);
				known = true;
				to!elected(heard)
			:: else ->
				left = heard;
				to!second(heard)
			fi
		fi
	:: from?second(heard) ->
		if
		:: relay -> to!second(heard)
		:: else ->
			if
			:: left > heard && left > greatest ->
				greatest = left;
				to!first(greatest)
			:: else -> relay = true
			fi
		fi
	:: from?elected(heard) ->
		if
		:: heard == number ->
			printf("%d leads\n", number);
			leaders++;
			assert(leaders == 1)
		:: else -> printf("%d follows\n", number)
		fi;
		if
		:: known -> skip
		:: else -> to!elected(heard)
		fi;
		break
	od
}

init {
	byte i;
	atomic {
		do
		:: i < N -> run Station(link[i], link[(i + 1) % N], (i + 1) % N + 1); i++
		:: else -> break
		od
	}
}
