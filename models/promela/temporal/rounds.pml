// A coordinator asks its stations one after the other, round after round; each may have something
// to say or not, and the last one sends what was said. A run in which a station is silent for ever
// is a cycle through all layers of the measure `at`, with one step back in each round.
//
// expect: in_order=holds rounds=holds heard=violated sent=violated
// measure: at

#define STATIONS 5

byte at;		/* the station that is asked */
bool said[STATIONS];
bool sending;

active proctype coordinator()
{
	byte i;
	do
	:: at < STATIONS ->
		if
		:: said[at] = true
		:: skip
		fi;
		at++
	:: at == STATIONS ->
		atomic {
			if
			:: said[0] || said[STATIONS - 1] -> sending = true
			:: else
			fi
		};
		d_step {
			sending = false;
			for (i : 0 .. STATIONS - 1) { said[i] = false }
			i = 0;
			at = 0
		}
	od
}

ltl in_order { [] (sending -> at == STATIONS) }
ltl rounds { [] <> (at == 0) }
ltl heard { [] <> said[2] }
ltl sent { [] (said[4] -> <> (said[3] && sending)) }
