/* SPDX-License-Identifier: Apache-2.0 */
/* The marks: one list, from which names, tables and indices derive. HD. */
#ifndef FS_MARK_H
#define FS_MARK_H

#include <stdint.h>

/* X(NAME, name, agent, moment) */
#define FS_MARKS(X) \
	X(INTENT, intent, ISSUER, "the decision to send is made; the data is ready") \
	X(RESERVED, reserved, ISSUER, "the issuer owns a queue slot") \
	X(RESOLVED, resolved, ISSUER, "both addresses are turned into address and key") \
	X(BUILT, built, ISSUER, "the WQE's stores are issued") \
	X(HANDED, handed, ISSUER, "descriptor, index or kernel end is given to the helper") \
	X(TAKEN, taken, HELPER, "the helper holds it, or has seen the end") \
	X(RUNG, rung, ISSUER, "everything is ordered, the doorbell store is issued") \
	X(SEEN, seen, NIC, "the doorbell is observed") \
	X(STARTED, started, NIC, "this message's turn has come") \
	X(FETCHED, fetched, NIC, "the WQE is in the NIC") \
	X(TRANSLATED, translated, NIC, "keys are checked, addresses translated page by page") \
	X(READ, read, NIC, "the payload has been read") \
	X(WRITTEN, written, NIC, "the payload's stores are issued") \
	X(COMPLETED, completed, NIC, "the CQE's owner byte is stored, released after the payload") \
	X(CAUGHT, caught, HELPER, "the helper has seen the completion") \
	X(RELAYED, relayed, HELPER, "the helper has passed the completion on, or launches what comes next") \
	X(NOTICED, noticed, ISSUER, "the completion is observed and the acquire that makes reading the payload legal is done")

enum mark {
#define X(NAME, name, agent, moment) MARK_##NAME,
	FS_MARKS(X)
#undef X
	MARKS
};

#endif
