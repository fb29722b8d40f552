/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares our declarations of the plugin interface with those of a NIXL source tree: sizes,
 * offsets, numbers, and the place of each virtual function. Built by `ninja nixl-headers` where
 * -Dnixl_headers names a tree.
 */
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#define private public
#define protected public
#include "backend/backend_plugin.h"
#undef private
#undef protected

#include "nixl/abi.h"

static int wrong;

static void
same(const char *what, long theirs, long ours)
{
	if (theirs != ours) {
		std::printf("%s: NIXL has %ld, we have %ld\n", what, theirs, ours);
		wrong++;
	}
}

/* The Itanium ABI's pointer to a virtual member function holds its place in the table. */
template<class Function> static long
place(Function function)
{
	long at;

	std::memcpy(&at, &function, sizeof(at));
	return at;
}

#define OFFSET(T, m) static_cast<long>(offsetof(T, m))
#define SIZE(theirs, ours)                same(#theirs, sizeof(theirs), sizeof(ours))
#define MEMBER(theirs, m, ours, n)        same(#theirs "::" #m, OFFSET(theirs, m), OFFSET(ours, n))
#define VALUE(theirs, ours)               same(#theirs, static_cast<long>(theirs), \
					       static_cast<long>(nixlabi::ours))
#define VIRTUAL(theirs, ours)             same(#theirs, place(&nixlBackendEngine::theirs), \
					       place(&nixlabi::Engine::ours))

using View = nixl_status_t (nixlBackendEngine::*)(const nixl_meta_dlist_t &, nixlMemViewH &,
						  const nixl_opt_b_args_t *) const;
using RemoteView = nixl_status_t (nixlBackendEngine::*)(const nixl_remote_meta_dlist_t &,
							nixlMemViewH &,
							const nixl_opt_b_args_t *) const;

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

static void
objects()
{
	using nixlabi::Engine;
	SIZE(nixlBackendEngine, Engine);
	MEMBER(nixlBackendEngine, backendType, Engine, type);
	MEMBER(nixlBackendEngine, customParams, Engine, params);
	MEMBER(nixlBackendEngine, telemetryEvents_, Engine, telemetry_events);
	MEMBER(nixlBackendEngine, telemetryEventsMutex_, Engine, telemetry_lock);
	MEMBER(nixlBackendEngine, initErr, Engine, init_error);
	MEMBER(nixlBackendEngine, localAgent, Engine, agent);
	MEMBER(nixlBackendEngine, enableTelemetry_, Engine, telemetry);
	SIZE(nixlBackendInitParams, nixlabi::InitParams);
	MEMBER(nixlBackendInitParams, localAgent, nixlabi::InitParams, agent);
	MEMBER(nixlBackendInitParams, type, nixlabi::InitParams, type);
	MEMBER(nixlBackendInitParams, customParams, nixlabi::InitParams, params);
	MEMBER(nixlBackendInitParams, enableProgTh, nixlabi::InitParams, progress_thread);
	MEMBER(nixlBackendInitParams, pthrDelay, nixlabi::InitParams, progress_delay_us);
	MEMBER(nixlBackendInitParams, syncMode, nixlabi::InitParams, sync);
	MEMBER(nixlBackendInitParams, enableTelemetry_, nixlabi::InitParams, telemetry);
	SIZE(nixlBackendPlugin, nixlabi::Plugin);
	MEMBER(nixlBackendPlugin, create_engine, nixlabi::Plugin, create);
	MEMBER(nixlBackendPlugin, destroy_engine, nixlabi::Plugin, destroy);
	MEMBER(nixlBackendPlugin, get_plugin_name, nixlabi::Plugin, name);
	MEMBER(nixlBackendPlugin, get_plugin_version, nixlabi::Plugin, version);
	MEMBER(nixlBackendPlugin, get_backend_options, nixlabi::Plugin, options);
	MEMBER(nixlBackendPlugin, get_backend_mems, nixlabi::Plugin, mems);
	SIZE(nixl_opt_b_args_t, nixlabi::PostArgs);
	MEMBER(nixl_opt_b_args_t, notifMsg, nixlabi::PostArgs, note);
	MEMBER(nixl_opt_b_args_t, hasNotif, nixlabi::PostArgs, has_note);
	MEMBER(nixl_opt_b_args_t, customParam, nixlabi::PostArgs, custom);
	SIZE(nixlBackendMD, nixlabi::Metadata);
	MEMBER(nixlBackendMD, isPrivateMD, nixlabi::Metadata, is_private);
	SIZE(nixlBackendReqH, nixlabi::Request);
}

static void
descriptors()
{
	SIZE(nixlBasicDesc, nixlabi::Desc);
	MEMBER(nixlBasicDesc, addr, nixlabi::Desc, addr);
	MEMBER(nixlBasicDesc, len, nixlabi::Desc, len);
	MEMBER(nixlBasicDesc, devId, nixlabi::Desc, dev);
	SIZE(nixlBlobDesc, nixlabi::BlobDesc);
	MEMBER(nixlBlobDesc, metaInfo, nixlabi::BlobDesc, blob);
	SIZE(nixlMetaDesc, nixlabi::MetaDesc);
	MEMBER(nixlMetaDesc, metadataP, nixlabi::MetaDesc, metadata);
	SIZE(nixl_meta_dlist_t, nixlabi::MetaList);
	MEMBER(nixl_meta_dlist_t, type, nixlabi::MetaList, mem);
	MEMBER(nixl_meta_dlist_t, descs, nixlabi::MetaList, at);
	SIZE(nixl_reg_dlist_t, nixlabi::BlobList);
	SIZE(notif_list_t, nixlabi::Notifs);
	SIZE(nixl_b_params_t, nixlabi::Params);
	SIZE(nixl_mem_list_t, nixlabi::Mems);
	SIZE(nixl_query_resp_t, nixlabi::Queried);
}

static void
numbers()
{
	VALUE(NIXL_PLUGIN_API_VERSION, API_VERSION);
	VALUE(DRAM_SEG, DRAM);
	VALUE(VRAM_SEG, VRAM);
	VALUE(BLK_SEG, BLK);
	VALUE(OBJ_SEG, OBJ);
	VALUE(FILE_SEG, FILE_MEM);
	VALUE(NIXL_READ, READ);
	VALUE(NIXL_WRITE, WRITE);
	VALUE(NIXL_IN_PROG, IN_PROG);
	VALUE(NIXL_SUCCESS, SUCCESS);
	VALUE(NIXL_ERR_NOT_POSTED, NOT_POSTED);
	VALUE(NIXL_ERR_INVALID_PARAM, INVALID_PARAM);
	VALUE(NIXL_ERR_BACKEND, BACKEND);
	VALUE(NIXL_ERR_NOT_FOUND, NOT_FOUND);
	VALUE(NIXL_ERR_MISMATCH, MISMATCH);
	VALUE(NIXL_ERR_NOT_ALLOWED, NOT_ALLOWED);
	VALUE(NIXL_ERR_REPOST_ACTIVE, REPOST_ACTIVE);
	VALUE(NIXL_ERR_UNKNOWN, UNKNOWN);
	VALUE(NIXL_ERR_NOT_SUPPORTED, NOT_SUPPORTED);
	VALUE(NIXL_ERR_REMOTE_DISCONNECT, REMOTE_DISCONNECT);
	VALUE(NIXL_ERR_CANCELED, CANCELED);
}

static void
functions()
{
	VIRTUAL(supportsRemote, supports_remote);
	VIRTUAL(supportsLocal, supports_local);
	VIRTUAL(supportsNotif, supports_notif);
	VIRTUAL(getSupportedMems, mems);
	VIRTUAL(registerMem, register_mem);
	VIRTUAL(deregisterMem, deregister_mem);
	VIRTUAL(connect, connect);
	VIRTUAL(disconnect, disconnect);
	VIRTUAL(unloadMD, unload);
	VIRTUAL(prepXfer, prepare);
	VIRTUAL(postXfer, post);
	VIRTUAL(checkXfer, check);
	VIRTUAL(releaseReqH, release);
	same("prepMemView of remote memory",
	     place(static_cast<RemoteView>(&nixlBackendEngine::prepMemView)),
	     place(&nixlabi::Engine::view_remote));
	same("prepMemView", place(static_cast<View>(&nixlBackendEngine::prepMemView)),
	     place(&nixlabi::Engine::view_local));
	VIRTUAL(releaseMemView, release_view);
	VIRTUAL(getPublicData, public_data);
	VIRTUAL(getConnInfo, conn_info);
	VIRTUAL(loadRemoteConnInfo, load_conn_info);
	VIRTUAL(loadRemoteMD, load_remote);
	VIRTUAL(loadLocalMD, load_local);
	VIRTUAL(getNotifs, take_notifs);
	VIRTUAL(genNotif, notify);
	VIRTUAL(queryMem, query);
	VIRTUAL(estimateXferCost, estimate);
}

int
main()
{
	objects();
	descriptors();
	numbers();
	functions();
	std::printf("%d differences\n", wrong);
	return wrong != 0;
}
