/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of bench/python.py in C, over the very peer and regions that Python uses: one write
 * with a note, its end, and the note at the other side.
 */
#include <string.h>
#include <time.h>

#include "tcpx/tcpx.h"

static double
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* Fills @took with the time of each of @count writes. Returns 0 or the code that ended it. */
TCPX_API int
python_cost(tcpx_peer *peer, tcpx_engine *there, const struct tcpx_desc *local,
	    const struct tcpx_desc *remote, double *took, unsigned count)
{
	char note[16];

	memset(note, 'n', sizeof(note));
	for (unsigned i = 0; i < count; i++) {
		double began = now_us();
		tcpx_xfer *xfer;
		tcpx_note *got;
		int rc = tcpx_write(peer, local, 1, remote, 1, note, sizeof(note), &xfer);

		if (rc == 0)
			rc = tcpx_wait(xfer, -1);
		if (rc == 0)
			rc = tcpx_note_wait(there, -1, &got);
		if (rc != 0)
			return rc;
		tcpx_note_free(got);
		tcpx_xfer_free(xfer);
		took[i] = now_us() - began;
	}
	return 0;
}
