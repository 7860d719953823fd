#!/usr/bin/env python3
"""Makes the catalog equal to a CSV file, by externalReferenceCode. Python 3.9, standard library only.

CRM_URL=https://crm.example.com CRM_API_KEY=tcrm_… python3 catalog-sync.py catalog.csv [--force]

The file has the columns code, title, price and currency. Products that it does not have are paused. A file that would pause more
than a tenth of the catalog is probably broken, and needs --force.
"""

import csv
import http.client
import json
import os
import random
import re
import sys
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ["CRM_URL"].rstrip("/") + "/v1/catalog/products"
TRIES = 6


def call(method, path="", body=None):
    """Sends a request, with retries. All attempts have one Idempotency-Key, so a POST creates one product."""
    headers = {
        "Authorization": "Bearer " + os.environ["CRM_API_KEY"],
        "Content-Type": "application/json",
        "Prefer": "handling=strict",
        "Idempotency-Key": str(uuid.uuid4()),
    }
    data = None if body is None else json.dumps(body).encode()
    for attempt in range(TRIES):
        request = urllib.request.Request(URL + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                if response.url != request.full_url:  # A redirected POST becomes a GET.
                    sys.exit(f"CRM_URL redirects to {response.url}")
                return json.load(response)
        except urllib.error.HTTPError as error:
            if method == "PATCH" and error.code == 404:
                return print(f"PATCH {path}: archived meanwhile", file=sys.stderr)
            after = error.headers.get("Retry-After", "")  # 429, 503, and a 409 while an earlier attempt is running.
            if (error.code not in (502, 503, 504) and not after) or attempt == TRIES - 1:
                sys.exit(f"{method} {path}: {error.read().decode()}")
            wait = int(after) if after.isdigit() else 0
        except (OSError, http.client.HTTPException) as error:
            if attempt == TRIES - 1:
                sys.exit(f"{method} {path}: {error}")
            wait = 0
        time.sleep(wait + random.random() * 2**attempt / 4)


def settled_products():
    """Returns every product once: repeats the walk until no product came twice and the total did not change."""
    for _ in range(10):
        found, rows, totals, offset = {}, 0, set(), 0
        while not totals or offset < max(totals):
            page = call("GET", f"?limit=100&offset={offset}")
            totals.add(page["pagination"]["total"])
            rows += len(page["data"])
            found.update((product["id"], product) for product in page["data"])
            offset += 100
        if rows == len(found) and len(totals) == 1:
            return found.values()
    sys.exit("The catalog changed during each of ten walks.")


def read(path):
    """Returns the wanted fields by code. A row that cannot be read ends the program before it changes anything."""
    rows = {}
    with open(path, newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file)
        for name in ("code", "title", "price", "currency"):
            if name not in (table.fieldnames or []):
                sys.exit(f"{path} has no column {name}. Nothing was changed.")
        for row in table:
            code, price = row["code"], row["price"]
            try:
                if None in row or None in row.values():
                    raise ValueError("too many or too few cells")
                if code == "" or code in rows:
                    raise ValueError(f"no code, or that of an earlier line: {code!r}")
                if row["title"] == "" or len(row["currency"]) not in (0, 3):
                    raise ValueError("no title, or a currency of another length than three")
                if not re.fullmatch(r" *(\d+(\.\d+)?)? *", price, re.ASCII):  # float() reads nan, -5 and 1_000, too.
                    raise ValueError(f"not a price: {price!r}")
                rows[code] = {
                    "title": row["title"],
                    "fromPrice": float(price) if price else None,
                    "currency": row["currency"] or None,
                    "status": "active",
                }
            except ValueError as error:
                sys.exit(f"{path}, line {table.line_num}: {error}. Nothing was changed.")
    return rows


def main(path, force):
    rows = read(path)
    products = settled_products()
    by_code = {product["externalReferenceCode"]: product for product in products if product["externalReferenceCode"]}
    gone = [product for code, product in by_code.items() if code not in rows and product["status"] != "paused"]
    if len(gone) > len(by_code) / 10 and not force:
        sys.exit(f"{len(gone)} of {len(by_code)} products would be paused. Nothing was changed; use --force if this is right.")
    counts = {"created": 0, "changed": 0, "unchanged": 0, "paused": len(gone)}
    for code, wanted in rows.items():
        product = by_code.get(code)
        if product is None:
            call("POST", "", {**wanted, "externalReferenceCode": code})
            counts["created"] += 1
            continue
        changes = {name: value for name, value in wanted.items() if product[name] != value}
        if changes:
            call("PATCH", "/" + product["id"], changes)
        counts["changed" if changes else "unchanged"] += 1
    for product in gone:
        call("PATCH", "/" + product["id"], {"status": "paused"})
    print(", ".join(f"{count} {name}" for name, count in counts.items()))


main(sys.argv[1], force="--force" in sys.argv[2:])
