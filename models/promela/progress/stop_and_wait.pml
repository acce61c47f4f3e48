// The stop-and-wait protocol: a sender sends packet after packet, each again and again until its
// acknowledgement comes; the network keeps what is on its way in no order.
//
// expect: states=3785 transitions=10200 verdict=holds
//
// The progress of a state is PACKETS*ns + nr. It never falls if the sender takes the greatest
// acknowledgement, or if only the packet that is waited for is acknowledged. With AGAIN the protocol
// starts anew after its last packet; without loss every cycle then passes that step, which goes back
// from the last layer to the first.

#ifndef PACKETS
#define PACKETS	6	/* packets to be sent, at most 6 */
#endif
#ifndef LIMIT
#define LIMIT	3	/* what may be on its way at a time */
#endif
#ifndef LOSS
#define LOSS	0	/* whether the network loses packets and acknowledgements */
#endif
#ifndef ALL
#define ALL	1	/* whether every packet is acknowledged, or only the one that is waited for */
#endif
#ifndef MAX
#define MAX	1	/* whether the sender goes by the greatest acknowledgement, or by the last */
#endif
#ifndef AGAIN
#define AGAIN	0	/* whether the next message is sent after the last packet */
#endif
#ifndef I
#define I	1	/* the packet that p and q are about */
#endif

#define progress	(PACKETS*ns + nr)
#define received	(nr == PACKETS + 1)
#define ahead		(ns - 2 >= nr)
#define p		(A[I] > 0)
#define q		(D[I+1] > 0)

byte ns = 1;	/* the packet to be sent */
byte nr = 1;	/* the packet that is waited for */
byte total;	/* how much is on its way */
byte A[8];	/* packets that were sent, by their numbers, */
byte B[8];	/* and those that have come; */
byte C[8];	/* acknowledgements that were sent, */
byte D[8];	/* and those that have come */

#define TRANSMIT_PACKET(x)	:: d_step { A[x] > 0 -> A[x]--; B[x]++ }
#define LOSE_PACKET(x)		:: d_step { LOSS && A[x] > 0 -> A[x]--; total-- }
#define TRANSMIT_ACK(x)		:: d_step { C[x] > 0 -> C[x]--; D[x]++ }
#define LOSE_ACK(x)		:: d_step { LOSS && C[x] > 0 -> C[x]--; total-- }
#define RECEIVE_PACKET(x)	:: d_step { B[x] > 0 -> B[x]--; \
				   if \
				   :: x == nr -> nr++; C[nr]++ \
				   :: else -> if :: ALL -> C[nr]++ :: else -> total-- fi \
				   fi }
#define RECEIVE_ACK(x)		:: d_step { D[x] > 0 -> D[x]--; total--; \
				   if :: MAX && ns > x :: else -> ns = x fi }

active proctype protocol()
{
end:	do
	:: d_step { ns <= PACKETS && total < LIMIT -> A[ns]++; total++ }
	:: d_step { AGAIN && ns > PACKETS && total == 0 -> ns = 1; nr = 1 }
	TRANSMIT_PACKET(1) TRANSMIT_PACKET(2) TRANSMIT_PACKET(3) TRANSMIT_PACKET(4) TRANSMIT_PACKET(5) TRANSMIT_PACKET(6)
	LOSE_PACKET(1) LOSE_PACKET(2) LOSE_PACKET(3) LOSE_PACKET(4) LOSE_PACKET(5) LOSE_PACKET(6)
	RECEIVE_PACKET(1) RECEIVE_PACKET(2) RECEIVE_PACKET(3) RECEIVE_PACKET(4) RECEIVE_PACKET(5) RECEIVE_PACKET(6)
	TRANSMIT_ACK(1) TRANSMIT_ACK(2) TRANSMIT_ACK(3) TRANSMIT_ACK(4) TRANSMIT_ACK(5) TRANSMIT_ACK(6) TRANSMIT_ACK(7)
	LOSE_ACK(1) LOSE_ACK(2) LOSE_ACK(3) LOSE_ACK(4) LOSE_ACK(5) LOSE_ACK(6) LOSE_ACK(7)
	RECEIVE_ACK(1) RECEIVE_ACK(2) RECEIVE_ACK(3) RECEIVE_ACK(4) RECEIVE_ACK(5) RECEIVE_ACK(6) RECEIVE_ACK(7)
	od
}
