/* SPDX-License-Identifier: Apache-2.0 */
/* core/session/identity.c is in force. */
#include "foe.h"

const bool identity_is_checked = true;
