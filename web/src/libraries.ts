// Everything that is not ours, built into one file. Our code imports it from here.
export { Component, Fragment, createContext, h, render } from "preact";
export type { ComponentChildren, JSX, RefObject, VNode } from "preact";
export { useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { jsx, jsxs } from "preact/jsx-runtime";
export { batch, computed, effect, signal, useSignal } from "@preact/signals";
export type { ReadonlySignal, Signal } from "@preact/signals";
export { lexer } from "marked";
export type { Token, Tokens } from "marked";
export { diffLines, diffWordsWithSpace } from "diff";
export { default as Anser } from "anser";
