// Election on a one-way ring (Dolev, Klawe, Rodeh; Peterson): in each round at least half of the active
// processes become relays, and the greatest number survives.
//
// expect: states=456 transitions=1159 verdict=holds

#ifndef N
#define N 3
#endif
#define ROOM (2 * N)

mtype = { one, two, winner };
chan link[N] = [ROOM] of { mtype, byte };
byte leaders, announced;

proctype Node(byte me; byte number) {
	byte own = number, first, second;
	bool active_ = true;
	link[(me + 1) % N]!one(own);
	do
	:: link[me]?one(first) ->
		if
		:: active_ && first != own -> link[(me + 1) % N]!two(first)
		:: active_ && first == own ->
			assert(own == N);
			leaders++;
			assert(leaders == 1);
			link[(me + 1) % N]!winner(own)
		:: !active_ -> link[(me + 1) % N]!one(first)
		fi
	:: link[me]?two(second) ->
		if
		:: active_ && first > second && first > own ->
			own = first;
			link[(me + 1) % N]!one(own)
		:: active_ && !(first > second && first > own) -> active_ = false
		:: !active_ -> link[(me + 1) % N]!two(second)
		fi
	:: link[me]?winner(second) ->
		announced++;
		assert(second == N);
		if
		:: second != own || announced < N -> link[(me + 1) % N]!winner(second)
		:: else
		fi;
		break
	od
}

init {
	byte i;
	atomic {
		do
		:: i < N -> run Node(i, (N * 2 - i) % N + 1); i++
		:: i == N -> break
		od
	};
	i = 0
}
