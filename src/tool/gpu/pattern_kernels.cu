/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test data in GPU memory: pattern.c once more, byte for byte the same. A thread takes the
 * eight bytes of an aligned address, then those a grid further.
 * Needs no header: "sh scripts/ptx.sh" compiles it with clang alone.
 */
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define INLINE     __device__ static inline __attribute__((always_inline))

typedef unsigned char u8;
typedef unsigned long long u64;

#define STEP 0x9e3779b97f4a7c15ull
#define MIX  0xbf58476d1ce4e5b9ull

INLINE u64
fold(u64 z)
{
	return z ^ z >> 32;
}

INLINE u64
pattern_word(u64 key, u64 index)
{
	return fold(fold(key + index * STEP) * MIX);
}

/* Bytes [offset, offset + 8) of the stream. */
INLINE u64
pattern_bytes(u64 key, u64 offset)
{
	const u64 word = pattern_word(key, offset / 8);
	const int bits = offset % 8 * 8;

	return bits ? word >> bits | pattern_word(key, offset / 8 + 1) << (64 - bits) : word;
}

INLINE u8
pattern_byte(u64 key, u64 offset)
{
	return (u8)(pattern_word(key, offset / 8) >> offset % 8 * 8);
}

/* The eight bytes at addr, as far as they are in [begin, end). */
struct span {
	u64 addr, low, high;
	bool whole;
};

INLINE span
span_at(u64 addr, u64 begin, u64 end)
{
	span s;

	s.addr = addr;
	s.low = addr < begin ? begin : addr;
	s.high = addr + 8 > end ? end : addr + 8;
	s.whole = s.high - s.low == 8;
	return s;
}

INLINE u64
thread_begin(u64 mem)
{
	const u64 block = __nvvm_read_ptx_sreg_ctaid_x();

	return mem - mem % 8 +
	       8 * (block * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x());
}

INLINE u64
grid_bytes(void)
{
	return 8 * (u64)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}

/* Bytes [offset, offset + len) of the stream of key to mem. */
extern "C" __global__ void
tcpx_pattern_fill(u64 mem, u64 len, u64 key, u64 offset)
{
	const u64 end = mem + len, grid = grid_bytes();

	for (u64 addr = thread_begin(mem); addr < end; addr += grid) {
		const span s = span_at(addr, mem, end);

		if (s.whole)
			*(u64 *)s.addr = pattern_bytes(key, offset + (s.addr - mem));
		else
			for (u64 at = s.low; at < s.high; at++)
				*(u8 *)at = pattern_byte(key, offset + (at - mem));
	}
}

/* Adds the bytes that differ to *wrong and lowers *first to the least stream offset of one:
 * the caller begins with 0 and the highest number. */
extern "C" __global__ void
tcpx_pattern_check(u64 mem, u64 len, u64 key, u64 offset, u64 wrong, u64 first)
{
	const u64 end = mem + len, grid = grid_bytes();
	u64 differ = 0, least = ~0ull;

	for (u64 addr = thread_begin(mem); addr < end; addr += grid) {
		const span s = span_at(addr, mem, end);

		if (s.whole && *(const u64 *)s.addr == pattern_bytes(key, offset + (s.addr - mem)))
			continue;
		for (u64 at = s.low; at < s.high; at++) {
			const u64 place = offset + (at - mem);

			if (*(const u8 *)at == pattern_byte(key, place))
				continue;
			differ++;
			least = place < least ? place : least;
		}
	}
	if (!differ)
		return;
	asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(wrong), "l"(differ)
		     : "memory");
	asm volatile("red.relaxed.gpu.global.min.u64 [%0], %1;" ::"l"(first), "l"(least)
		     : "memory");
}
