#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A page loads nothing, and its one script is the one that its policy allows by a hash."""
import base64, hashlib, html.parser, re, sys
page = open(sys.argv[1]).read()
scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
assert len(scripts) == 1 and "</" not in scripts[0]
digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
assert "script-src 'sha256-%s'" % digest in page
assert not re.search(r"\son\w+=|https?://", page.split("</head>")[1])
