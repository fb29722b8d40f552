/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy kernels, and the one that sums. A warp copies a piece (launch.h), then the one a grid
 * further. Destinations are written in aligned 16-byte vectors. A source with another alignment is read in aligned
 * vectors, too, and shifted. No read leaves the vectors that hold the piece. No header is
 * needed: "sh scripts/ptx.sh" compiles it with clang alone.
 */
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define INLINE     __device__ static inline __attribute__((always_inline))

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define WARP 32
#define VEC  16 /* bytes that a thread loads or stores at once */
#define ROW  (WARP * VEC)
#define ALL  0xffffffffu /* threads of a warp */

struct vec {
	u32 word[4];
};

struct piece {
	u64 src, dst;
	u32 len;
};

/* Data is read once and must not displace anything in the L1 cache. "volatile" keeps the loads
 * of a turn before its stores, so that all of them are in flight together. */
INLINE vec
load(u64 addr)
{
	vec v;

	asm volatile("ld.relaxed.gpu.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
		     : "l"(addr));
	return v;
}

/* Loads without a branch; the vector is 0 if it is not wanted. */
INLINE vec
load_if(bool wanted, u64 addr)
{
	vec v = { { 0, 0, 0, 0 } };

	asm volatile("{\n\t"
		     ".reg .pred wanted;\n\t"
		     "setp.ne.u32 wanted, %5, 0;\n\t"
		     "@wanted ld.relaxed.gpu.global.L1::no_allocate.v4.u32 "
		     "{%0, %1, %2, %3}, [%4];\n\t"
		     "}"
		     : "+r"(v.word[0]), "+r"(v.word[1]), "+r"(v.word[2]), "+r"(v.word[3])
		     : "l"(addr), "r"((u32)wanted));
	return v;
}

/* Whole cache lines may leave the L2 cache at once. Where two pieces share a line, as packets
 * do, the first half waits there for the second. */
template <bool LINES>
INLINE void
store(u64 addr, vec v)
{
	if (LINES)
		asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(addr),
			     "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
			     : "memory");
	else
		asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(addr),
			     "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
			     : "memory");
}

INLINE u32
load_byte(u64 addr)
{
	u32 byte;

	asm volatile("ld.relaxed.gpu.global.u8 %0, [%1];" : "=r"(byte) : "l"(addr));
	return byte;
}

INLINE void
store_byte(u64 addr, u32 byte)
{
	asm volatile("st.global.u8 [%0], %1;" ::"l"(addr), "r"(byte) : "memory");
}

INLINE piece
load_piece(u64 list, u32 index)
{
	vec v = load(list + (u64)index * VEC);
	piece p;

	p.src = (u64)(v.word[1] & 0xffff) << 32 | v.word[0];
	p.dst = (u64)v.word[3] << 32 | v.word[2];
	p.len = (v.word[1] >> 16) + 1;
	return p;
}

/* Bits [shift, shift + 32) of high:low. */
INLINE u32
funnel(u32 low, u32 high, u32 shift)
{
	u32 word;

	asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(low), "r"(high), "r"(shift));
	return word;
}

/* count vectors, both sides aligned. LOADS vectors of a thread are in flight. */
template <int LOADS, bool LINES>
INLINE void
copy_straight(u64 src, u64 dst, u32 count, u32 lane)
{
	src += lane * VEC;
	dst += lane * VEC;
	for (int left = count - lane; left > 0; left -= LOADS * WARP) {
		vec v[LOADS];

#pragma unroll
		for (int i = 0; i < LOADS; i++)
			v[i] = load_if(i * WARP < left, src + i * ROW);
#pragma unroll
		for (int i = 0; i < LOADS; i++)
			if (i * WARP < left)
				store<LINES>(dst + i * ROW, v[i]);
		src += LOADS * ROW;
		dst += LOADS * ROW;
	}
}

/*
 * Writes count vectors. Each is made of two neighbours at src, from WORDS words and some bits
 * into the first: count + 1 vectors are read. A thread has one, the next thread the other; the
 * last thread takes its other from the first thread's next vector.
 */
template <int LOADS, bool LINES, int WORDS>
INLINE void
copy_shifted(u64 src, u64 dst, u32 count, u32 bits, u32 lane)
{
	const u32 next = (lane + 1) % WARP;
	int left = count - lane; /* <= 0: this thread only reads for its neighbour */

	src += lane * VEC;
	dst += lane * VEC;
	for (int turn = count; turn > 0; turn -= LOADS * WARP, left -= LOADS * WARP) {
		vec v[LOADS + 1];

#pragma unroll
		for (int i = 0; i < LOADS; i++)
			v[i] = load_if(i * WARP <= left, src + i * ROW);
		v[LOADS] = load_if(!lane && LOADS * WARP <= left, src + LOADS * ROW);
#pragma unroll
		for (int i = 0; i < LOADS; i++) {
			u32 word[8];
			vec out;

#pragma unroll
			for (int k = 0; k < 4; k++)
				word[k] = v[i].word[k];
#pragma unroll
			for (int k = 0; k <= WORDS; k++) {
				u32 here = v[i].word[k], later = v[i + 1].word[k];

				word[4 + k] = __nvvm_shfl_sync_idx_i32(
					ALL, lane ? here : later, next, 0x1f);
			}
#pragma unroll
			for (int k = 0; k < 4; k++)
				out.word[k] = funnel(word[WORDS + k], word[WORDS + k + 1], bits);
			if (i * WARP < left)
				store<LINES>(dst + i * ROW, out);
		}
		src += LOADS * ROW;
		dst += LOADS * ROW;
	}
}

template <int LOADS, bool LINES>
INLINE void
copy_vectors(u64 src, u64 dst, u32 count, u32 lane)
{
	const u32 beyond = src % VEC, bits = beyond % 4 * 8;

	src -= beyond;
	if (!beyond)
		return copy_straight<LOADS, LINES>(src, dst, count, lane);
	switch (beyond / 4) {
	case 0:
		return copy_shifted<LOADS, LINES, 0>(src, dst, count, bits, lane);
	case 1:
		return copy_shifted<LOADS, LINES, 1>(src, dst, count, bits, lane);
	case 2:
		return copy_shifted<LOADS, LINES, 2>(src, dst, count, bits, lane);
	default:
		return copy_shifted<LOADS, LINES, 3>(src, dst, count, bits, lane);
	}
}

/* Copies the bytes before the destination's first whole vector and after its last, one for each
 * thread: the lower half of the warp has the head, the upper half the tail. They are loaded
 * before and stored after the vectors, so that no thread waits for them. */
template <int LOADS, bool LINES>
INLINE void
copy_piece(piece p, u32 lane)
{
	u32 head = -(u32)p.dst % VEC;

	if (head > p.len)
		head = p.len;

	const u32 count = (p.len - head) / VEC, body = count * VEC;
	const u32 tail = p.len - head - body, nth = lane % VEC;
	const bool mine = nth < (lane < VEC ? head : tail);
	const u32 at = lane < VEC ? nth : head + body + nth;
	u32 byte = 0;

	if (mine)
		byte = load_byte(p.src + at);
	if (count)
		copy_vectors<LOADS, LINES>(p.src + head, p.dst + head, count, lane);
	if (mine)
		store_byte(p.dst + at, byte);
}

template <int LOADS, bool LINES>
INLINE void
copy_all(u64 list, u32 pieces)
{
	const u32 thread = __nvvm_read_ptx_sreg_tid_x();
	const u32 block_warps = (u32)__nvvm_read_ptx_sreg_ntid_x() / WARP;
	const u32 warps = __nvvm_read_ptx_sreg_nctaid_x() * block_warps;
	u32 i = __nvvm_read_ptx_sreg_ctaid_x() * block_warps + thread / WARP;

	for (; i < pieces; i += warps)
		copy_piece<LOADS, LINES>(load_piece(list, i), thread % WARP);
}

/*
 * The last block to arrive writes the ticket and resets the count. All writes of all threads are
 * visible to a reader of the ticket, on the host or on another GPU, by causality, which adds up
 * over scopes: a block's writes are before its count by the barrier; the counts of all blocks
 * are before the last one's by release and acquire within the GPU; and that is before the ticket
 * by its release to the system. This covers writes into host memory, too: threads are ordered,
 * wherever the bytes lie. So only the last block waits for the whole system.
 */
INLINE void
report(u64 arrived, u64 done, u64 ticket)
{
	const u32 last = __nvvm_read_ptx_sreg_nctaid_x() - 1;
	u32 before;

	if (!done)
		return;
	__syncthreads();
	if (__nvvm_read_ptx_sreg_tid_x())
		return;
	asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
		     : "=r"(before)
		     : "l"(arrived), "r"(last)
		     : "memory");
	if (before != last)
		return;
	asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(done), "l"(ticket) : "memory");
}

/* launch.c has the same names and limits of threads. The limit leaves each thread 64 registers,
 * which is enough for all kernels. */
#define KERNEL(name, loads, lines)                                                           \
	extern "C" __global__ __attribute__((launch_bounds(1024))) void name(                \
		u64 list, u32 pieces, u64 arrived, u64 done, u64 ticket)                     \
	{                                                                                    \
		copy_all<loads, lines>(list, pieces);                                        \
		report(arrived, done, ticket);                                               \
	}

KERNEL(tcpx_unpack_pages, 4, true)
KERNEL(tcpx_unpack_packets, 3, false)
KERNEL(tcpx_unpack_mixed, 4, false)

/* ---- CRC32C ------------------------------------------------------------------------- */

#define POLY 0x82f63b78u /* of Castagnoli, lowest power in the highest bit */
#define FIVE 7		 /* groups of 5 bits in a word                     */

/* v after a number of zero bits; before them, if it is negative. */
constexpr u32
after_zeros(u32 v, int bits)
{
	for (; bits > 0; bits--)
		v = v >> 1 ^ (v & 1 ? POLY : 0);
	for (; bits < 0; bits++)
		v = v & 1u << 31 ? (v ^ POLY) << 1 | 1 : v << 1;
	return v;
}

struct words {
	u32 of[WARP];
};

/* What becomes of each bit of a word. */
constexpr words
bits_after(int zeros)
{
	words w = {};

	for (int i = 0; i < WARP; i++)
		w.of[i] = after_zeros(1u << i, zeros);
	return w;
}

/* What takes a sum back by as many vectors as its lane has before it. */
constexpr words
back_by_lanes()
{
	words w = {};

	for (int i = 0; i < WARP; i++)
		w.of[i] = after_zeros(1u << 31, -i * VEC * 8);
	return w;
}

/* To the next word of a vector; and from its last word to the same lane's vector in the next row.
 * That is done in the last row, too. It is right there for the first lane, and too far by a
 * vector more for each other. */
__device__ static const words word_bits = bits_after(32);
__device__ static const words row_bits = bits_after((ROW - VEC) * 8 + 32);
__device__ static const words lane_powers = back_by_lanes();

/* A table of 32 entries lies in one register of each thread: a look-up is a shuffle. */
INLINE void
make_tables(const words &bits, u32 lane, u32 table[FIVE])
{
#pragma unroll
	for (int k = 0; k < FIVE; k++) {
		table[k] = 0;
#pragma unroll
		for (int b = 0; b < 5; b++)
			if (5 * k + b < 32)
				table[k] ^= lane >> b & 1 ? bits.of[5 * k + b] : 0;
	}
}

INLINE u32
look_up(const u32 table[FIVE], u32 v)
{
	u32 sum = 0;

#pragma unroll
	for (int k = 0; k < FIVE; k++)
		sum ^= __nvvm_shfl_sync_idx_i32(ALL, table[k], v >> 5 * k, 0x1f);
	return sum;
}

/* The product of two polynomials. */
INLINE u32
times(u32 a, u32 b)
{
	u32 sum = 0;

#pragma unroll 8
	for (int i = 0; i < 32; i++) {
		sum ^= a & 1u << 31 ? b : 0;
		a <<= 1;
		b = b >> 1 ^ (b & 1 ? POLY : 0);
	}
	return sum;
}

/* The vector at @at, 0 where it is not of the piece. */
INLINE vec
within(vec v, u64 at, u64 from, u64 to)
{
	if (at >= from && at + VEC <= to)
		return v;
#pragma unroll
	for (int k = 0; k < 4; k++, at += 4) {
		if (at < from)
			v.word[k] &= from - at < 4 ? ~0u << (u32)(from - at) * 8 : 0;
		if (at + 4 > to)
			v.word[k] &= to > at ? ~0u >> (u32)(at + 4 - to) * 8 : 0;
	}
	return v;
}

INLINE u32
sum_vector(vec v, u32 sum, const u32 word_table[FIVE], const u32 row_table[FIVE])
{
#pragma unroll
	for (int k = 0; k < 3; k++)
		sum = look_up(word_table, sum ^ v.word[k]);
	return look_up(row_table, sum ^ v.word[3]);
}

/*
 * The CRC32C of a piece with nothing inverted, so zeros before it do not matter: the warp's rows
 * end with the last vector that holds a part of it. Zeros behind it do, and are taken back.
 */
INLINE u32
sum_piece(piece p, u32 lane, const u32 word_table[FIVE], const u32 row_table[FIVE])
{
	const int ROWS = 2; /* in flight */
	const u64 end = p.src + p.len, last = (end + VEC - 1) & ~(u64)(VEC - 1);
	const int rows = (int)((last - (p.src & ~(u64)(VEC - 1)) + ROW - 1) / ROW);
	const u32 behind = (u32)(last - end);
	u64 at = last - (u64)rows * ROW + lane * VEC;
	u32 sum = 0;

	for (int row = 0; row < rows; row += ROWS) {
		vec v[ROWS];

#pragma unroll
		for (int i = 0; i < ROWS; i++)
			v[i] = load_if(row + i < rows && at + i * ROW + VEC > p.src, at + i * ROW);
#pragma unroll
		for (int i = 0; i < ROWS; i++)
			if (row + i < rows)
				sum = sum_vector(within(v[i], at + i * ROW, p.src, end), sum,
						 word_table, row_table);
		at += ROWS * ROW;
	}
	sum = times(sum, lane_powers.of[lane]);
	asm("redux.sync.xor.b32 %0, %1, %2;" : "=r"(sum) : "r"(sum), "r"(ALL));
	for (u32 i = 0; i < behind * 8; i++)
		sum = sum >> 31 ? (sum ^ POLY) << 1 | 1 : sum << 1;
	return sum;
}

/* Each piece's sum goes to the lower half of its dst. */
extern "C" __global__ __attribute__((launch_bounds(1024))) void
tcpx_sum(u64 list, u32 pieces, u64 arrived, u64 done, u64 ticket)
{
	const u32 thread = __nvvm_read_ptx_sreg_tid_x(), lane = thread % WARP;
	const u32 block_warps = (u32)__nvvm_read_ptx_sreg_ntid_x() / WARP;
	const u32 warps = __nvvm_read_ptx_sreg_nctaid_x() * block_warps;
	u32 i = __nvvm_read_ptx_sreg_ctaid_x() * block_warps + thread / WARP;
	u32 word_table[FIVE], row_table[FIVE], sum;

	make_tables(word_bits, lane, word_table);
	make_tables(row_bits, lane, row_table);
	for (; i < pieces; i += warps) {
		sum = sum_piece(load_piece(list, i), lane, word_table, row_table);
		if (!lane)
			asm volatile("st.global.u32 [%0], %1;" ::"l"(list + (u64)i * VEC + 8), "r"(sum)
				     : "memory");
	}
	report(arrived, done, ticket);
}
