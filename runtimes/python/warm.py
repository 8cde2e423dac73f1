"""The modules that most scripts import, imported once for the image."""

import abc, argparse, array, ast, asyncio, base64, binascii, bisect, bz2, calendar, cmath
import codecs, collections.abc, concurrent.futures.thread, configparser, contextlib
import contextvars, copy, csv, dataclasses, datetime, decimal, difflib, doctest, enum
import fileinput, fnmatch, fractions, functools, getpass, glob, graphlib, gzip, hashlib, heapq
import hmac, html.parser, http.client, importlib.metadata, importlib.resources, inspect, io
import ipaddress, itertools, json, keyword, locale, logging.handlers, lzma, math, mimetypes
import numbers, operator, optparse, os, pathlib, pickle, pkgutil, platform, pprint, queue
import random, re, reprlib, runpy, sched, secrets, select, shelve, shlex, shutil, signal
import socket, sqlite3, stat, statistics, string, struct, subprocess, sys, tarfile, tempfile
import textwrap, threading, time, timeit, tokenize, tomllib, traceback, tracemalloc, types
import typing, unicodedata, unittest.mock, urllib.error, urllib.parse, urllib.request, uuid
import warnings, weakref, xml.dom.minidom, xml.etree.ElementTree, zipfile, zlib, zoneinfo
import email.message, email.mime.multipart, email.mime.text, email.parser, email.policy

# What those import only when they are used.
import _colorize, _strptime, _suggestions
import email.contentmanager, email.generator, email.headerregistry
import encodings.ascii, encodings.cp1252, encodings.cp437, encodings.idna, encodings.latin_1
import encodings.utf_16, encodings.utf_16_le, encodings.utf_8_sig
import importlib.metadata._adapters, importlib.resources._adapters
import tomllib._re, tzdata.zoneinfo, xml.dom.expatbuilder

# There is no /usr/share/zoneinfo to look through before the package tzdata.
zoneinfo.reset_tzpath(())
