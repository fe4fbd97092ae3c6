import{render}from"./libraries-c0a40985b0.js";import{useEffect as useEffect4,useRef as useRef4,useState as useState5}from"./libraries-c0a40985b0.js";import{jsx}from"./libraries-c0a40985b0.js";var PATHS={chevron:"m6 3.5 4.5 4.5L6 12.5",down:"m3.5 6 4.5 4.5L12.5 6",check:"m3 8.5 3.3 3.3L13 4.6",cross:"m4 4 8 8\
M12 4l-8 8",plus:"M8 3v10M3 8h10",dots:"M3.5 8h.01M8 8h.01M12.5 8h.01",search:"M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.4 10.4 13.5 13.5",read:"M4 1.8h5l\
3 3v9.4H4zM9 1.8v3h3M6 8h4M6 11h4",edit:"m10.5 2.8 2.7 2.7-7.7 7.7-3.2.5.5-3.2zM9 4.3 11.7 7",execute:"m2.5 4.5 3.5 3.5-3.5 3.5M8 12h5.5",fetch:"M8 14A6 6 0 1 0\
 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c2 2 2.4 4 2.4 6S10 12 8 14c-2-2-2.4-4-2.4-6S6 4 8 2Z",delete:"M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4",move:"M2 8h11M9.5 4.5 1\
3 8l-3.5 3.5",think:"M8 1.8a4.2 4.2 0 0 0-2.2 7.8v1.6h4.4V9.6A4.2 4.2 0 0 0 8 1.8ZM6.3 13.8h3.4",other:"M8 2.2 13.2 5v6L8 13.8 2.8 11V5zM2.8 5 8 8l5.2-3M8 8v5.8",
plan:"M6.5 4h7M6.5 8h7M6.5 12h7M2.2 4l.8.8 1.6-1.6M2.2 8l.8.8 1.6-1.6M2.2 12l.8.8 1.6-1.6",wire:"M1.5 8h3L6.5 3l3 10 2-5h3",send:"M8 13V3.2M3.8 7.4 8 3.2l4.2 4.\
2",stop:"M5 5h6v6H5z",image:"M2 3h12v10H2zM2 11l3.5-3.5 3 3L11 8l3 3M10.8 5.8h.01",at:"M10.5 8a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0ZM10.5 5.5v3.2c0 2.4 3 2 3-.7A\
5.5 5.5 0 1 0 11 12.6",slash:"M2.5 2.5h11v11h-11zM6.5 11l3-6",people:"M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c.2-2.8 2-4.2 4.5-4.2s4.3 1.4 4.5 4.2M\
11 2.9a2.4 2.4 0 0 1 0 4.4M12.3 9.6c1.4.6 2.1 1.9 2.2 3.9",eye:"M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
help:"M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.2 6.3c.1-2.3 3.7-2.3 3.6 0 0 1.3-1.8 1.4-1.8 2.7M8 11.2h.01",copy:"M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",out:"M9.5 2.\
5h4v4M13.2 2.8 7.5 8.5M11.5 9.5v4h-9v-9h4",alert:"M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.7h.01",save:"M8 2v8M4.5 6.8 8 10.3l3.5-3.5M2.5 13.5h11",right:"M2.5 8h10.5M\
9 4l4 4-4 4",left:"M13.5 8H3M7 4 3 8l4 4",clock:"M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.3 1.5",folder:"M1.8 3.5h4.4l1.5 1.8h6.5v7.6H1.8z",branch:"M4.5 6v\
4M4.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM4.5 13.6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM11.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM11.5 6c0 2.6-\
4.6 2-6 4",key:"M5.5 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM7.7 7.8 13.5 2M11 4.5l2 2",plug:"M5.5 2v3M10.5 2v3M3.5 5h9v2.5a4.5 4.5 0 0 1-9 0zM8 12v2.5",bolt:"M9 1.5 3.\
5 9H8l-1 5.5L12.5 7H8z",shield:"M8 1.8 13 3.5V8c0 3-2 5-5 6.2C5 13 3 11 3 8V3.5z",panel:"M2 3h12v10H2zM10 3v10",menu:"M2.5 4.5h11M2.5 8h11M2.5 11.5h7",chat:"M2 \
3h12v8H7.5L4.5 14v-3H2z",code:"m5.5 4-4 4 4 4M10.5 4l4 4-4 4",retry:"M13 8a5 5 0 1 1-1.5-3.6M13.2 2v3h-3",ring:"M8 13A5 5 0 1 0 8 3a5 5 0 0 0 0 10Z",spin:"M8 2.\
5a5.5 5.5 0 1 1-5.5 5.5",pause:"M5.5 3.5v9M10.5 3.5v9",hand:"M4.5 8.5V4.4a1.1 1.1 0 0 1 2.2 0M6.7 7.5V2.9a1.1 1.1 0 0 1 2.2 0v4.6M8.9 7.5V3.9a1.1 1.1 0 0 1 2.2 \
0V8M11.1 8V5.4a1.1 1.1 0 0 1 2.2 0v4.1a4.6 4.6 0 0 1-4.6 4.6c-2 0-3.2-.9-4.2-2.7L2.9 8.6a1.1 1.1 0 0 1 1.9-1.1",logo:"M2 12.5V10a6 6 0 0 1 12 0v2.5M5 13v-2.8a3 \
3 0 0 1 6 0V13M8 10.5v3",logout:"M6 2.5H2.5v11H6M10 4.5 13.5 8 10 11.5M13.5 8H6",fork:"M4.5 6.2v.3c0 1.8 7 1.2 7 0v-.3M8 7.6v2.2M4.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1\
.8 0 0 0 0 3.6ZM11.5 6a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6ZM8 13.5a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Z"},FILLED={theme:"M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8\
 2Zm0 1.5v9a4.5 4.5 0 0 1 0-9Z",half:"M8 2.3a5.7 5.7 0 1 0 0 11.4A5.7 5.7 0 0 0 8 2.3Zm0 1.5v8.4a4.2 4.2 0 0 1 0-8.4Z"};function Icon({name:name2,size=16,class:own=""}){
let filled=name2==="theme"||name2==="half";return jsx("svg",{class:`i i-${name2} ${own}`,width:size,height:size,viewBox:"0 0 16 16","aria-hidden":"true",fill:filled?
"currentColor":"none","fill-rule":"evenodd",stroke:filled?"none":"currentColor","stroke-width":name2==="dots"?2:1.5,"stroke-linecap":"round","stroke-linejoin":"\
round",children:name2==="stop"?jsx("rect",{x:"4.5",y:"4.5",width:"7",height:"7",rx:"1.5",fill:"currentColor",stroke:"none"}):jsx("path",{d:filled?FILLED[name2]:
PATHS[name2]})})}import{useEffect,useLayoutEffect,useRef,useState}from"./libraries-c0a40985b0.js";var offset=Date.now()-performance.now();var PICTURE="[\\p{So}\\p{Sk}\\p{Extended_Pictographic}]",JOINED=[["\\u1039","[\\u1000-\\u1038\\u103a-\\u109f]"],["\\u17d2","[\\u1780-\\u17b3\\u17b6-\\u17d1\\u17d3]"],
["\\u1a60","[\\u1a20-\\u1a5e\\u1a61-\\u1a7c]"],["\\u{11133}","[\\u{11103}-\\u{11132}\\u{11144}-\\u{11147}]"]],HIDDEN=new RegExp(["(?<blanks>[ \\t]{40,})","(?<li\
nes>\\n(?:[ \\t]*\\n){4,})","(?![ \\t\\n\\u200d]|\\r\\n)[\\p{C}\\p{Z}]",`(?<!${PICTURE}\\ufe0f?)\\u200d|\\u200d(?!${PICTURE})`,`(?<!${PICTURE})\\ufe0f`,"[\\u0334\
-\\u0338\\u034f\\u0488\\u0489\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u1abe\\u20d0-\\u20ff\\u2800\\u3164\\ua670-\\ua672\\ufe00-\\ufe0e\\uffa0]","[\\u{16fe4}\\\
u{1d159}\\u{e0100}-\\u{e01ef}]",...JOINED.map(([mark,letters])=>`(?<!${letters})${mark}|${mark}(?!${letters})`),"[\\u1bab\\u2d7f\\uaaf6\\u{10a3f}\\u{1107f}\\u{113d0}\\\
u{1193e}\\u{11a47}\\u{11a99}\\u{11d45}\\u{11d97}\\u{11f42}\\u{1612f}]","(?<=\\p{Mn}{4})\\p{Mn}"].join("|"),"gu");function parts(text){let all=[],at=0;for(let match of text.
matchAll(HIDDEN))match.index>at&&all.push({text:text.slice(at,match.index),hidden:!1}),match.groups?.lines===void 0?all.push({text:name(match[0]),hidden:!0}):all.
push({text:`
`,hidden:!1},{text:name(match[0]),hidden:!0},{text:`
`,hidden:!1}),at=match.index+match[0].length;return at<text.length&&all.push({text:text.slice(at),hidden:!1}),all}function name(hidden){return hidden.startsWith(
`
`)?`[${hidden.split(`
`).length-2} empty lines]`:hidden.length>=40?`[${hidden.length} blanks]`:`U+${(hidden.codePointAt(0)??0).toString(16).toUpperCase().padStart(4,"0")}`}import{Fragment,jsx as jsx2,jsxs}from"./libraries-c0a40985b0.js";function IconButton({icon,label,onClick,class:own="",pressed,size=16,expanded}){return jsx2("bu\
tton",{type:"button",class:`icon ${own}`,"aria-label":label,title:label,"aria-pressed":pressed,"aria-expanded":expanded,onClick,children:jsx2(Icon,{name:icon,size})})}function Visible({text}){return jsx2(Fragment,{children:parts(text).map((part,index)=>part.hidden?jsx2("span",{class:"ghost",children:part.text},index):part.text)})}
function CopyButton({text,label="Copy"}){let[done,setDone]=useState(!1),copy=async()=>{await navigator.clipboard.writeText(text()),setDone(!0),setTimeout(()=>setDone(
!1),1500)};return jsx2(IconButton,{icon:done?"check":"copy",size:14,label:done?"Copied":label,onClick:()=>{copy()}})}var isMac=/Mac|iPhone|iPad/.test(navigator.platform);import{useState as useState2}from"./libraries-c0a40985b0.js";import{batch,computed,signal}from"./libraries-c0a40985b0.js";var KEYS=["method","update","kind","dir","session","id","c","bad"],WORD=/(-?)(?:"([^"]*)"|(\S+))/g,NUMBER=/^(ms|size)([<>])(\d+(?:\.\d+)?)([kKM]?)$/,NO_NUMBER=/^(ms|size)[<>]/,
SCALE={"":1,k:1e3,K:1e3,M:1e6},BADGES={std:"text",log:"stderr",sys:"event"},VALUES={kind:["req","ntf","res","err","text","stderr","event"],dir:["in","out"]};function wordsOf(text){
return[...text.matchAll(WORD)].map(([word])=>word)}function parseFilter(text){let filter2={tests:[],words:[],error:""};for(let[,sign,quoted,word]of text.matchAll(
WORD)){let wanted=sign==="";if(word===void 0){quoted&&filter2.words.push({wanted,text:quoted.toLowerCase()});continue}let number=NUMBER.exec(word),colon=word.indexOf(
":"),key=colon<0?"":word.slice(0,colon),typed=word.slice(colon+1),value=key==="kind"&&BADGES[typed.toLowerCase()]||typed.toLowerCase(),known=VALUES[key];number?
filter2.tests.push(numberTest(number[1],number[2],Number(number[3])*SCALE[number[4]],wanted)):NO_NUMBER.test(word)?filter2.error||=`${NO_NUMBER.exec(word)[0]} w\
ants a number after it, such as ${NO_NUMBER.exec(word)[0]}500`:known&&value!==""&&!known.includes(value)&&!/[*?]/.test(value)?filter2.error||=`there is no ${key}\
:${value}; use ${known.join(", ")}`:KEYS.includes(key)?filter2.tests.push(keyTest(key,value,wanted)):/^[a-z]+$/.test(key)&&!value.startsWith("//")?filter2.error||=
`${key}: is not a filter; there are ${KEYS.join(", ")}, ms>N, size>N, and text`:filter2.words.push({wanted,text:word.toLowerCase()})}return filter2}function numberTest(name2,sign,limit,wanted){
return row=>{let value=name2==="ms"?(row.took??-1)*1e3:row.size??0;return(value>=0&&(sign===">"?value>limit:value<limit))===wanted}}function keyTest(key,value,wanted){
let pattern=glob(value);return(row,rules2)=>{if(key==="bad")return(value===""?rules2.length>0:rules2.some(rule2=>pattern.test(rule2.toLowerCase())))===wanted;let actual=String(
row[key]??(key==="c"?1:"")).toLowerCase(),holds=pattern.test(actual);return key==="session"&&value!==""&&actual!==""&&(holds||=actual.startsWith(value)||actual.
endsWith(value)),holds===wanted}}function glob(value){let escaped=value.replace(/[.+^${}()|[\]\\]/g,"\\$&").replaceAll("*",".*").replaceAll("?",".");return new RegExp(
`^${escaped}$`,"s")}var TOKEN="acpella.token",LoginNeeded=class extends Error{},ServerSource=class{#source="";async logIn(){let code=location.hash.slice(1);if(code==="")return;history.
replaceState(null,"",location.pathname);let answer=await fetch("/acp/login",{method:"POST",headers:{"Content-Type":"application/json"},body:JSON.stringify({code})});
if(answer.ok)sessionStorage.setItem(TOKEN,(await answer.json()).token);else if(sessionStorage.getItem(TOKEN)===null)throw new LoginNeeded((await answer.text()).
trim())}logInWith(token){sessionStorage.setItem(TOKEN,token.trim())}conversations(){return this.#get("sources")}choose(id){this.#source=id}held(after){return this.#get(
`hold?after=${after}`)}async order(order2){return await(await this.#fetch("hold",JSON.stringify(order2))).json()}async copy(as,n){return(await this.#get(`copy?a\
s=${as}&n=${n}`)).text}rows(after){return this.#get(`rows?after=${after}`)}times(){return this.#get("times")}line(n){return this.#get(`line?n=${n}`)}search(query2,after){
return this.#get(`search?q=${encodeURIComponent(query2)}&after=${after}`)}async save(){let answer=await this.#fetch("recording"),link=document.createElement("a");
link.href=URL.createObjectURL(await answer.blob()),link.download="recording.jsonl",link.click(),setTimeout(()=>URL.revokeObjectURL(link.href),1e4)}async#fetch(what,body){
let source2=this.#source===""?"":`${what.includes("?")?"&":"?"}source=${encodeURIComponent(this.#source)}`,headers={Authorization:`Bearer ${sessionStorage.getItem(
TOKEN)??""}`},answer=await fetch(`/inspect/${what}${source2}`,body===void 0?{headers}:{method:"POST",headers:{...headers,"Content-Type":"application/json"},body});
if(answer.status===401)throw new LoginNeeded("This link was used already. The terminal gives another one; a token opens the page, too.");if(!answer.ok)throw new Error(
(await answer.text()).trim()||`the server answered ${answer.status}`);return answer}async#get(what){return await(await this.#fetch(what)).json()}},EmbeddedSource=class{#data;#bodies=[];constructor(text){
this.#data=JSON.parse(text)}async rows(after){return{...this.#data.batch,rows:after===0?this.#data.batch.rows:[]}}async times(){return this.#data.times}async line(n){
return this.#data.lines[n-1]??{line:null,notes:[]}}async copy(as){return this.#data.copies[as]}async search(query2,after){let filter2=parseFilter(query2),{rows:rows2,
rules:rules2}=this.#data.batch,holds=row=>{if(!filter2.tests.every(test=>test(row,rules2[row.n]??[])))return!1;let body=this.#bodies[row.n]??=JSON.stringify(this.#data.
lines[row.n-1]?.line??null).toLowerCase();return filter2.words.every(word=>body.includes(word.text)===word.wanted)};return{rows:rows2.slice(after).filter(holds).
map(row=>row.n),until:rows2.length}}};var PREVIEW=160,rows=[],rules=new Map,answers=new Map,version=signal(0),about=signal(null),times=signal(null),problem=signal(""),paused=signal(!1),folding=signal(
!0),settled=signal([]),draft=signal(""),query=computed(()=>[...settled.value,draft.value].join(" ").trim()),selected=signal(0),line=signal(null),lockedOut=signal(
!1),chat=signal(!1),conversations=signal([]),applied=signal({tests:[],text:null}),opened=signal(new Set),filter=computed(()=>parseFilter(query.value)),shown=computed(
()=>{version.value;let{tests,text}=applied.value,list2=[];for(let row of rows){if(text!==null&&!text.has(row.n)||tests.length>0&&!tests.every(test=>test(row,rules.
get(row.n)??[])))continue;let before=list2.at(-1);folding.value&&before&&row.fold&&row.fold===before.row.fold&&row.c===before.row.c&&!opened.value.has(before.row.
n)?(before.count+=1,before.size+=row.size??0,before.last=row,before.preview.length<PREVIEW&&row.kind==="ntf"&&row.update?.endsWith("_chunk")&&(before.preview+=row.
preview??"")):list2.push({row,count:1,size:row.size??0,last:row,preview:row.preview??""})}return list2}),sessions=new Map;function sessionNumber(id){return sessions.
has(id)||sessions.set(id,sessions.size%4+1),sessions.get(id)}var source,run=0;async function start(from){source=from,lockedOut.value=!1;let mine=++run;for(list(
mine);;)try{let got=await source.rows(rows.length);if(mine!==run)return;if(problem.value="",take(got),got.live&&got.source==="")continue;if(source.choose?.(got.
source),!got.live&&rows.length>=got.total){await look();return}for(got.rows.length<5e3&&await look();paused.value;)await pause(200)}catch(error){if(mine!==run)return;
if(problem.value=error instanceof Error?error.message:String(error),error instanceof LoginNeeded){lockedOut.value=!0;return}await pause(2e3)}}var pause=ms=>new Promise(
resolve=>setTimeout(resolve,ms));async function list(mine){for(;mine===run&&source.conversations;){try{let got=await source.conversations();batch(()=>{conversations.
value=got.sources,chat.value=got.chat})}catch{}await pause(3e3)}}function choose(id){source.choose?.(id),batch(()=>{rows.length=0,rules.clear(),answers.clear(),
sessions.clear(),about.value=null,times.value=null,apply(null),searched=0,searches+=1,opened.value=new Set,selected.value=0,line.value=null,version.value+=1}),start(
source)}function take({rows:more,rules:broken,...rest}){batch(()=>{for(let row of more)rows.push(row),row.pair!==void 0&&answers.set(row.pair,{took:row.took??0,
row:row.n});for(let[n,some]of Object.entries(broken))rules.set(Number(n),some);about.value=rest,more.length>0&&(version.value+=1)}),more.length>0&&wantsText()&&
search(searched)}async function look(){times.value=await source.times()}var searches=0,searched=0;async function search(after=0){let mine=++searches,got=await source.
search(query.value,after);if(mine!==searches)return;let next=after===0?new Set:new Set(applied.value.text);for(let row of got.rows)next.add(row);searched=got.until,
apply(next)}var wantsText=()=>filter.value.words.length>0&&filter.value.error==="";function apply(text){applied.value={tests:filter.value.error===""?filter.value.
tests:[],text}}function setFilter(words,typed){settled.value=words,draft.value=typed,searched=0,searches+=1,wantsText()?search():apply(null)}function settle(){return parseFilter(
draft.value).error!==""?!1:(setFilter([...settled.value,...wordsOf(draft.value)],""),!0)}function toggleWord(word){let without=words=>words.filter(each=>each!==
word);hasWord(word)?setFilter(without(settled.value),without(wordsOf(draft.value)).join(" ")):setFilter([...settled.value,word],draft.value)}function hasWord(word){
return wordsOf(query.value).includes(word)}async function select(n){if(selected.value=n,line.value=null,n===0)return;let got=await source.line(n);selected.value===
n&&(line.value=got)}function unfold(n){let next=new Set(opened.value);next.delete(n)||next.add(n),opened.value=next}function step(by){let list2=shown.value,at=list2.
findIndex(each=>each.row.n<=selected.value&&selected.value<=each.last.n),next=list2[Math.min(list2.length-1,Math.max(0,at<0?0:at+by))];next&&select(next.row.n)}
function pairOf(n){return answers.get(n)?.row??rows[n-1]?.pair??0}var canSave=()=>source?.save!==void 0,save=()=>{source.save?.()};function seconds(value){return value<5e-4?"0 ms":value<1?`${Math.round(value*1e3)} ms`:value<100?`${value.toFixed(1)} s`:value<3600?`${Math.round(value)} s`:`${(value/
3600).toFixed(1)} h`}function bytes(value){if(value<1e3)return`${value} B`;let kilo=value/1e3;return kilo<1e3?`${kilo<10?kilo.toFixed(1):Math.round(kilo)} kB`:`${(kilo/
1e3).toFixed(1)} MB`}import{Fragment as Fragment2,jsx as jsx3,jsxs as jsxs2}from"./libraries-c0a40985b0.js";var OPEN_DEPTH=4,LONG_TEXT=2e3,MANY=200;function Detail(){let[tab,setTab]=useState2(
"tree"),row=rows[selected.value-1],findings=times.value?.findings??[];if(!row)return jsx3("aside",{class:"detail","aria-label":"Findings",children:jsx3(Findings,
{findings})});let pair=pairOf(row.n),here=findings.filter(finding=>finding.rows.includes(row.n)),body=line.value===null?void 0:bodyOf(line.value.line);return jsxs2(
"aside",{class:"detail","aria-label":`Frame ${row.n}`,"data-detail":row.n,children:[jsxs2("header",{class:"detail-head",children:[jsxs2("h2",{children:[jsx3("sp\
an",{class:"dim",children:row.n})," ",jsx3(Visible,{text:row.method||row.kind})," ",row.update&&jsx3("span",{class:"badge accent",children:jsx3(Visible,{text:row.
update})})]}),jsxs2("p",{class:"num cut",children:[row.t.toFixed(3)," s",row.dir&&jsxs2(Fragment2,{children:[" · ",jsx3(Icon,{name:row.dir==="out"?"right":"lef\
t",size:12,class:`to-${row.dir}`})," ",row.dir==="out"?"to the agent":"from the agent"]})," · ",bytes(row.size??0),row.session&&jsxs2("span",{title:row.session,
children:[" · ",jsx3(Visible,{text:row.session})]})]})]}),jsxs2("div",{class:"detail-tabs",children:[jsxs2("span",{role:"tablist","aria-label":"Message as",children:[
jsx3("button",{type:"button",role:"tab","aria-selected":tab==="tree",onClick:()=>setTab("tree"),children:"Tree"}),jsx3("button",{type:"button",role:"tab","aria-\
selected":tab==="raw",onClick:()=>setTab("raw"),children:"Raw"})]}),pair>0&&jsxs2("button",{type:"button",class:"linkish",onClick:()=>{select(pair)},children:[row.
kind==="req"?"Answer":"Request"," ",pair]}),jsx3("span",{class:"grow"}),jsx3(CopyButton,{text:()=>JSON.stringify(body,null,2),label:"Copy as JSON"}),jsx3(CopyAs,
{kind:"python",n:row.n}),jsx3(CopyAs,{kind:"pytest",n:row.n})]}),jsx3("div",{class:"detail-scroll",tabIndex:0,role:"region","aria-label":"Message",children:body===
void 0?jsx3("p",{class:"nothing dim",children:"Reading…"}):tab==="raw"?jsx3("pre",{class:"raw",children:jsx3(Visible,{text:JSON.stringify(body,null,2)})}):jsx3(
Tree,{value:body,notes:notesOf(line.value?.notes??[])})}),(here.length>0||(rules.get(row.n)?.length??0)>0)&&jsx3(Findings,{findings:here})]})}function CopyAs({kind,
n}){let[word,setWord]=useState2(""),copy=async()=>{try{let text=await source.copy(kind,n);await navigator.clipboard.writeText(text),setWord(text===""?"nothing t\
o copy":"copied")}catch(error){setWord(error instanceof Error?error.message:String(error))}setTimeout(()=>setWord(""),3e3)};return jsx3("button",{type:"button",
class:"linkish",title:`Copy the conversation up to here as ${kind==="pytest"?"a test":"a program"}`,onClick:()=>{copy()},"data-copy":kind,children:word||(kind===
"python"?"Python":"pytest")})}function bodyOf(value){if(typeof value!="object"||value===null)return value;let entry=value;return entry.msg??entry.text??entry.b64??
entry}var notesOf=notes=>new Map(notes.map(note=>[note.path,note]));function Tree({value,notes}){return jsx3("div",{class:"tree",children:members(value).map(([name2,
entry])=>jsx3(Branch,{name:name2,value:entry,path:name2,depth:1,notes},name2))})}function members(value){return typeof value!="object"||value===null?[["",value]]:
Object.entries(value)}function Branch({name:name2,value,path,depth,notes}){let nested=typeof value=="object"&&value!==null,entries=nested?Object.entries(value):
[],[open,setOpen]=useState2(depth<OPEN_DEPTH&&entries.length<=50&&name2!=="_meta"&&name2!=="rawInput"),[explained,setExplained]=useState2(!1),note=notes.get(path),
list2=Array.isArray(value),indent=`d${Math.min(depth,8)}`;return jsxs2(Fragment2,{children:[jsxs2("div",{class:`tr ${indent}${note?.unknown?" unknown":""}`,children:[
nested&&entries.length>0?jsx3("button",{type:"button",class:`fold${open?" open":""}`,"aria-expanded":open,"aria-label":`${open?"Close":"Open"} ${name2}`,onClick:()=>setOpen(
!open),children:jsx3(Icon,{name:"chevron",size:12})}):jsx3("span",{class:"fold"}),jsx3("button",{type:"button",class:"key",disabled:!note,"aria-expanded":note?explained:
void 0,onClick:()=>setExplained(!explained),children:jsx3(Visible,{text:name2})}),jsx3("span",{class:"val",children:nested?jsx3("span",{class:"dim",children:list2?
`${entries.length} ${entries.length===1?"item":"items"}`:open?"":jsx3(Visible,{text:`{ ${entries.map(([key])=>key).slice(0,4).join(", ")} }`})}):jsx3(Leaf,{value})}),
(note?.unknown||name2==="_meta")&&jsx3("span",{class:"badge line",children:"ext"})]}),explained&&note&&jsxs2("p",{class:`help ${indent}`,children:[note.text,note.
type&&jsxs2("span",{class:"dim",children:[" ",note.type]})]}),open&&entries.slice(0,MANY).map(([key,entry])=>jsx3(Branch,{name:key,value:entry,path:list2?`${path}\
[]`:`${path}.${key}`,depth:depth+1,notes},key)),open&&entries.length>MANY&&jsxs2("p",{class:`help ${indent}`,children:[entries.length-MANY," more stand in Raw"]})]})}
function Leaf({value}){let[whole,setWhole]=useState2(!1);if(typeof value!="string")return jsx3("span",{class:typeof value=="number"?"n":"w",children:String(value)});
let text=whole?value:value.slice(0,LONG_TEXT);return jsxs2("span",{class:"s",children:['"',jsx3(Visible,{text}),'"',text.length<value.length&&jsxs2("button",{type:"\
button",class:"linkish",onClick:()=>setWhole(!0),children:["all ",value.length," characters"]})]})}function Findings({findings}){let total=times.value?.finding_count??
findings.length,Heading=selected.value===0?"h2":"h3";return jsxs2("section",{class:"finds","aria-label":"Findings",tabIndex:0,children:[jsxs2(Heading,{children:[
"Findings ",findings.length>0?jsx3("span",{class:"badge err",children:selected.value===0?total:findings.length}):jsx3("span",{class:"badge ok",children:"none"})]}),
findings.slice(0,100).map((finding,index)=>jsxs2("article",{class:`find ${finding.level==="must"||finding.level==="capability"?"e":"w"}`,children:[jsx3(Icon,{name:finding.
level==="must"||finding.level==="capability"?"cross":"alert",size:14}),jsxs2("div",{children:[jsx3("b",{children:jsx3(Visible,{text:finding.text})}),jsx3("p",{children:finding.
sentence}),jsxs2("p",{class:"meta",children:[jsx3("span",{class:"badge",children:finding.rule})," ",jsx3("code",{children:finding.requirement})," ",jsx3("span",
{class:"dim",children:finding.side}),finding.rows.map(n=>jsx3("button",{type:"button",class:"linkish",onClick:()=>{select(n)},children:n},n))]})]})]},index))]})}import{useEffect as useEffect2,useRef as useRef2,useState as useState3}from"./libraries-c0a40985b0.js";import{Fragment as Fragment3,jsx as jsx4,jsxs as jsxs3}from"./libraries-c0a40985b0.js";var narrow=matchMedia("(max-width: 760px)"),MORE=12,SLOW=1,KINDS={req:"re\
q",ntf:"ntf",res:"res",err:"err",text:"std",stderr:"log",event:"sys"};function List(){let list2=shown.value,HEIGHT=narrow.matches?32:24,box=useRef2(null),[view,
setView]=useState3({top:0,height:600}),atEnd=useRef2(!0);useEffect2(()=>{let element=box.current,measure=()=>{atEnd.current=element.scrollTop+element.clientHeight>=
element.scrollHeight-24,setView({top:element.scrollTop,height:element.clientHeight})},watcher=new ResizeObserver(measure);return watcher.observe(element),element.
addEventListener("scroll",measure,{passive:!0}),()=>{watcher.disconnect(),element.removeEventListener("scroll",measure)}},[]),useEffect2(()=>{about.value?.live&&
atEnd.current&&selected.value===0&&(box.current.scrollTop=box.current.scrollHeight)},[list2.length]),useEffect2(()=>{let at=list2.findIndex(each=>each.row.n<=selected.
value&&selected.value<=each.last.n),element=box.current,head=HEIGHT;if(at<0)return;let top=at*HEIGHT-element.scrollTop,below=top+HEIGHT+head-element.clientHeight;
top<-2*HEIGHT||below>2*HEIGHT?element.scrollTop+=top-element.clientHeight/2+HEIGHT:top<0?element.scrollTop+=top:below>0&&(element.scrollTop+=below)},[selected.value]);
let first=Math.max(0,Math.floor(view.top/HEIGHT)-MORE),last=Math.min(list2.length,Math.ceil((view.top+view.height)/HEIGHT)+MORE);return jsxs3("div",{class:"fram\
es",role:"grid","aria-rowcount":list2.length,"aria-label":"Frames",tabIndex:0,ref:box,"data-list":!0,children:[jsx4("div",{class:"fr head",role:"row",children:[
"#","time","Δ","","kind","method","preview","size","took"].map((word,index)=>jsx4("span",{role:"columnheader",children:word||jsx4("span",{class:"hide",children:"\
direction"})},index))}),jsx4("svg",{class:"space",height:first*HEIGHT,width:"1","aria-hidden":"true"}),list2.slice(first,last).map((each,index)=>jsx4(Line,{shown:each,
before:list2[first+index-1],at:first+index},index)),jsx4("svg",{class:"space",height:(list2.length-last)*HEIGHT,width:"1","aria-hidden":"true"}),list2.length===
0&&jsx4("p",{class:"nothing dim",children:about.value===null?"Reading…":about.value.total===0?"Nothing was said yet.":"No row fits the filter."})]})}function Line({
shown:{row,count,size,last,preview},before,at}){let broken=rules.get(row.n)??[],gap=before&&before.row.c===row.c?row.t-before.last.t:0,took=row.kind==="req"?answers.
get(row.n)?.took:count>1?last.t-row.t:void 0,current=row.n<=selected.value&&selected.value<=last.n,session=row.session===void 0?"":` s${sessionNumber(row.session)}`;
return jsxs3("div",{class:`fr k-${row.kind}${session}${broken.length>0?" bad":""}`,role:"row","aria-rowindex":at+1,"aria-selected":current,"data-row":row.n,onClick:()=>{
select(row.n)},onDblClick:()=>unfold(row.n),children:[jsx4("span",{role:"gridcell",children:row.n}),jsx4("span",{role:"gridcell",children:row.kind==="event"&&row.
t===0?"":row.t.toFixed(3)}),jsx4("span",{role:"gridcell",class:gap>=SLOW?"slow":"",children:gap>0?seconds(gap):""}),jsx4("span",{role:"gridcell",class:`to-${row.
dir??"none"}`,children:row.dir&&jsxs3(Fragment3,{children:[jsx4(Icon,{name:row.dir==="out"?"right":"left",size:12}),jsx4("span",{class:"hide",children:row.dir===
"out"?"to the agent":"from the agent"})]})}),jsx4("span",{role:"gridcell",children:jsx4("span",{class:`kd ${KINDS[row.kind]}`,children:KINDS[row.kind]})}),jsxs3(
"span",{role:"gridcell",class:"m",children:[jsxs3("span",{class:"cut",children:[jsxs3("span",{class:row.update&&"of",children:[jsx4(Visible,{text:row.method||(row.
kind==="text"?"not a message":row.kind==="stderr"?"stderr":"")})," "]}),row.update&&jsx4("span",{class:"upd",children:jsx4(Visible,{text:row.update})})]}),count>
1&&jsxs3("button",{type:"button",class:"cnt",title:"Show each piece",onClick:event=>{event.stopPropagation(),unfold(row.n)},children:["×",count]}),row.method?.
startsWith("_")&&jsx4("span",{class:"badge line",children:"ext"})]}),jsxs3("span",{role:"gridcell",class:"pv cut",children:[broken.length>0&&jsxs3(Fragment3,{children:[
jsx4(Icon,{name:"alert",size:12}),jsx4("span",{class:"badge err",children:broken[0]})," "]}),jsx4(Visible,{text:preview})]}),jsx4("span",{role:"gridcell",children:row.
kind==="event"?"":bytes(size)}),jsx4("span",{role:"gridcell",class:took!==void 0&&took>=SLOW?"slow":"",children:took!==void 0?seconds(took):row.kind==="req"?jsx4(
"span",{class:"dim",children:"open"}):""})]})}import{effect,signal as signal2}from"./libraries-c0a40985b0.js";var setting=signal2(!1),rule=signal2(null),held=signal2([]),holdProblem=signal2(""),changes=0,watching="";function take2(state){rule.value=state.rule,held.value=
state.held,changes=state.changes}async function watch(id){for(watching=id,changes=0;watching===id&&about.value?.source===id&&about.value.can_hold;){try{let state=await source.
held(changes);if(watching!==id||(take2(state),state.ended===!0))return}catch(error){rule.value=null,held.value=[],setting.value&&(holdProblem.value=error instanceof
Error?error.message:String(error))}rule.value===null&&await pause(1e3)}watching===id&&(watching="")}effect(()=>{let told=about.value;told===null||!told.can_hold?
(rule.value=null,held.value=[],watching=""):watching!==told.source&&source.held&&watch(told.source)});async function order(what){try{return holdProblem.value="",
take2(await source.order(what)),!0}catch(error){return holdProblem.value=error instanceof Error?error.message:String(error),!1}}import{useEffect as useEffect3,useRef as useRef3,useState as useState4}from"./libraries-c0a40985b0.js";import{jsx as jsx5,jsxs as jsxs4}from"./libraries-c0a40985b0.js";var FAULTS=[["hold","hold it"],["delay","delay it"],["drop","drop it"],["duplicate","send it tw\
ice"],["garble","change a byte"]],DELAY=2;function Holding(){let active=rule.value;return!setting.value&&active===null?null:jsxs4("section",{class:"holding","ar\
ia-label":"Hold and change messages","data-holding":active===null?"off":"on",children:[active===null?jsx5(Start,{}):jsx5(RedBar,{filter:active.filter,then:active.
then}),holdProblem.value!==""&&jsx5("p",{class:"filter-error",role:"alert",children:holdProblem.value}),held.value.length>0&&jsx5("ul",{class:"held",children:held.
value.slice(0,50).map(each=>jsx5(Message,{held:each},each.n))}),held.value.length>50&&jsxs4("p",{class:"dim",children:[held.value.length-50," more wait behind t\
hem."]})]})}function Start(){let[words,setWords]=useState4(query.value||"method:session/request_permission"),[then,setThen]=useState4("hold"),[seconds2,setSeconds]=useState4(
DELAY),input=useRef3(null);useEffect3(()=>input.current?.select(),[]);let start2=async()=>{await order({do:"start",filter:words,then,seconds:seconds2})&&(setting.
value=!1)};return jsxs4("form",{class:"hold-form",onSubmit:event=>{event.preventDefault(),start2()},children:[jsxs4("label",{class:"filter-in",children:[jsx5("s\
pan",{children:"When a message fits"}),jsx5("input",{ref:input,value:words,onInput:event=>setWords(event.currentTarget.value),spellcheck:!1,autocomplete:"off",placeholder:"\
every message","data-hold-filter":!0})]}),jsxs4("label",{children:["then ",jsx5("select",{value:then,onChange:event=>setThen(event.currentTarget.value),children:FAULTS.
map(([name2,text])=>jsx5("option",{value:name2,children:text},name2))})]}),then==="delay"&&jsxs4("label",{children:["for ",jsx5("input",{type:"number",min:"0",max:"\
600",step:"0.5",value:seconds2,onInput:event=>setSeconds(Number(event.currentTarget.value))})," s"]}),jsx5("button",{type:"submit",class:"btn small primary",children:"\
Start"}),jsx5("button",{type:"button",class:"btn small",onClick:()=>setting.value=!1,children:"Cancel"})]})}function RedBar({filter:filter2,then}){let text=FAULTS.
find(([name2])=>name2===then)?.[1]??then;return jsxs4("div",{class:"red-bar",role:"status",children:[jsx5(Icon,{name:"alert",size:16}),jsxs4("span",{class:"grow",
children:[jsx5("b",{children:"This page changes the conversation."})," When a message fits ",jsx5("code",{children:jsx5(Visible,{text:filter2||"anything"})}),":\
 ",text,". ",held.value.length," ",held.value.length===1?"waits":"wait","."]}),jsx5("button",{type:"button",class:"btn small",onClick:()=>{order({do:"stop"})},"\
data-stop":!0,children:"Release all and stop"})]})}function Message({held:message}){let[editing,setEditing]=useState4(""),act=(how,more={})=>{order({do:"act",n:message.
n,how,...more})},name2=`${message.method||message.kind} ${message.n}`;return jsxs4("li",{class:"held-one","data-held":message.n,children:[jsxs4("p",{class:"held\
-head",children:[jsxs4("span",{class:`to-${message.dir}`,children:[jsx5(Icon,{name:message.dir==="out"?"right":"left",size:12}),jsx5("span",{class:"hide",children:message.
dir==="out"?"to the agent":"from the agent"})]}),jsx5("span",{class:"kd",children:message.kind})," ",jsxs4("b",{class:"cut",children:[jsx5(Visible,{text:message.
method??""})," ",message.update&&jsx5("span",{class:"upd",children:jsx5(Visible,{text:message.update})})]}),jsx5("span",{class:"pv cut",children:jsx5(Visible,{text:message.
preview??""})})]}),jsxs4("div",{class:"held-acts",role:"group","aria-label":name2,children:[jsx5("button",{type:"button",class:"btn small primary",onClick:()=>act(
"release"),children:"Release"}),message.whole&&jsx5("button",{type:"button",class:"btn small","aria-expanded":editing==="edit",onClick:()=>setEditing(editing===
"edit"?"":"edit"),children:"Edit"}),message.kind==="req"&&jsx5("button",{type:"button",class:"btn small","aria-expanded":editing==="answer",onClick:()=>setEditing(
editing==="answer"?"":"answer"),children:"Answer"}),jsxs4("button",{type:"button",class:"btn small",onClick:()=>act("delay",{seconds:DELAY}),children:["Delay ",
DELAY," s"]}),jsx5("button",{type:"button",class:"btn small",onClick:()=>act("duplicate"),children:"Twice"}),jsx5("button",{type:"button",class:"btn small",onClick:()=>act(
"garble"),children:"Garble"}),jsx5("button",{type:"button",class:"btn small danger",onClick:()=>act("drop"),children:"Drop"})]}),editing!==""&&jsx5(Editor,{message,
how:editing,onDone:()=>setEditing("")},editing)]})}function Editor({message,how,onDone}){let[text,setText]=useState4(how==="edit"?pretty(message.text):`{
  "outcome": { "outcome": "cancelled" }
}`),[wrong,setWrong]=useState4(""),box=useRef3(null);useEffect3(()=>box.current?.focus(),[]);let send=async()=>{if(how==="edit")return await order({do:"act",n:message.
n,how,text:text===pretty(message.text)?message.text:text}),onDone();try{let result=JSON.parse(text);await order({do:"act",n:message.n,how,result}),onDone()}catch(error){
setWrong(String(error instanceof Error?error.message:error))}},note="";if(how==="edit")try{JSON.parse(text)}catch{note="This is not JSON. It is sent as it stand\
s."}return jsxs4("form",{class:"held-edit",onSubmit:event=>{event.preventDefault(),send()},children:[jsxs4("label",{children:[jsx5("span",{class:"hide",children:how===
"edit"?"The message":"The result"}),jsx5("textarea",{ref:box,value:text,rows:Math.min(16,text.split(`
`).length+1),spellcheck:!1,onInput:event=>setText(event.currentTarget.value),onKeyDown:event=>{event.key==="Enter"&&(event.ctrlKey||event.metaKey)?(event.preventDefault(),
send()):event.key==="Escape"&&onDone()},"data-editor":!0})]}),(note||wrong)&&jsx5("p",{class:"filter-error",role:"alert",children:wrong||note}),jsx5("button",{type:"\
submit",class:"btn small primary",children:how==="edit"?"Send this instead":"Send this as the result"}),jsx5("button",{type:"button",class:"btn small",onClick:onDone,
children:"Cancel"})]})}var UNSEEN=/[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;function pretty(text){try{return JSON.stringify(JSON.
parse(text),null,2).replace(UNSEEN,character=>`\\u${character.charCodeAt(0).toString(16).padStart(4,"0")}`)}catch{return text}}import{Fragment as Fragment4,jsx as jsx6,jsxs as jsxs5}from"./libraries-c0a40985b0.js";var LANES=[["turn","Turn"],["tool","Tool call"],["person","Waiting for a \
person"],["silence","Model silence"]],TOP=20,LANE=20,BOTTOM=TOP+LANES.length*LANE,IDLE=15,FOLDED=5,TICK=7,LAST=12;function Waterfall(){let told=times.value;if(told===
null||told.turns.length===0)return null;let turns=told.turns.slice(-LAST),from=turns[0].turn,spans=told.spans.filter(span=>(span.turn??0)>=from),end=told.stats.
seconds,scale=timeScale(spans,end),turn=(selected.value>0?turns.findLast(each=>each.row<=selected.value):void 0)??turns.at(-1),now2=rows[selected.value-1]?.t;return jsxs5(
"section",{class:"wf","aria-label":"Where the time went",children:[jsxs5("div",{class:"wf-sum",children:[jsxs5("span",{children:[jsxs5("b",{children:["Turn ",turn.
turn]})," ",turn.total===null?"goes on":jsxs5(Fragment4,{children:["took ",jsx6("b",{children:seconds(turn.total)})]})]}),jsx6(Key,{lane:"turn",words:"model wri\
tes",took:turn.writing}),jsx6(Key,{lane:"person",words:"person",took:turn.person}),jsx6(Key,{lane:"silence",words:"model silent",took:turn.silence}),jsx6(Key,{lane:"\
tool",words:"tools",took:turn.tools}),jsx6("span",{class:"grow"}),jsx6(Prompts,{})]}),jsxs5("div",{class:"wf-body",children:[jsx6("ul",{class:"wf-names",children:LANES.
map(([lane,name2])=>jsx6("li",{children:name2},lane))}),jsxs5("svg",{class:"lanes",role:"img","aria-label":turns.map(each=>`Turn ${each.turn}: ${each.total===null?
"goes on":seconds(each.total)}`).join(", "),children:[jsx6("pattern",{id:"hatch",width:"5",height:"5",patternUnits:"userSpaceOnUse",patternTransform:"rotate(45)",
children:jsx6("line",{class:"hatch",y2:"5"})}),scale.ticks.map(({x,words})=>jsxs5("g",{children:[jsx6("line",{class:"tick",x1:percent(x),x2:percent(x),y1:TOP-4,
y2:BOTTOM}),jsx6("text",{class:"when",x:percent(x),y:"11",children:words})]},x)),scale.gaps.map(gap=>jsxs5("g",{children:[jsx6("rect",{class:"idle",x:percent(gap.
x),width:percent(FOLDED),y:TOP-4,height:BOTTOM-TOP+4}),jsx6("text",{class:"gap",x:percent(gap.x+FOLDED/2),y:TOP+2*LANE+4,"text-anchor":"middle",children:seconds(
gap.length)})]},gap.x)),spans.map((span,index)=>jsx6(Bar,{span,next:spans.find(other=>other.lane===span.lane&&other.start>span.start),end,at:scale.at},index)),now2!==
void 0&&jsx6("line",{class:"now",x1:percent(scale.at(now2)),x2:percent(scale.at(now2)),y1:TOP-4,y2:BOTTOM})]})]})]})}function Bar({span,next,end,at}){let top=TOP+
4+LANES.findIndex(([name2])=>name2===span.lane)*LANE,left=at(span.start),width=Math.max(.25,at(span.end??end)-left),length=(span.end??end)-span.start,took=span.
end===void 0?"goes on":seconds(length),words=`${span.label??""} · ${took}`,room=(next===void 0?100:at(next.start))-left-width;return jsxs5("g",{class:"bar-of",
onClick:()=>{select(span.row)},children:[jsx6("rect",{class:`w-${span.lane}${span.bad?" w-bad":""}`,x:percent(left),y:top,width:percent(width),height:"12",rx:"2\
.5",children:jsx6("title",{children:words})}),span.lane!=="silence"&&width>5&&jsx6("svg",{x:percent(left),y:top,width:percent(width),height:"12",children:jsx6("\
text",{class:"in",x:"5",y:"9.5",children:span.lane==="person"?took:words})}),span.lane==="tool"&&width<=5&&room>TICK&&jsx6("svg",{x:percent(left+width),y:top,width:percent(
room-1),height:"12",children:jsx6("text",{class:"beside",x:"5",y:"9.5",children:span.label})})]})}function Key({lane,words,took}){return took<5e-4?null:jsxs5("s\
pan",{class:"wf-key",children:[jsx6("svg",{width:"10",height:"10","aria-hidden":"true",children:jsx6("rect",{class:`w-${lane}`,width:"10",height:"10",rx:"2"})}),
words," ",seconds(took)]})}function Prompts(){let prompt=times.value?.stats.methods.find(each=>each.method==="session/prompt");return!prompt||prompt.requests<2||
prompt.p50===null||prompt.p95===null?null:jsxs5("span",{class:"dim only-wide",children:[jsx6(Icon,{name:"clock",size:12})," session/prompt p50 ",seconds(prompt.
p50)," · p95 ",seconds(prompt.p95)]})}var percent=value=>`${value.toFixed(2)}%`;function timeScale(spans,end){let pieces=[];for(let turn of spans.filter(span=>span.
lane==="turn").sort((a,b)=>a.start-b.start))pieces.push({start:turn.start,end:Math.max(turn.start,turn.end??end),x:0});let busy=pieces.reduce((sum,piece)=>sum+piece.
end-piece.start,0),limit=Math.min(IDLE,Math.max(.1,busy/5));for(let at2=pieces.length-1;at2>0;at2--){let[before,piece]=[pieces[at2-1],pieces[at2]];piece.start-before.
end<=limit&&(before.end=Math.max(before.end,piece.end),pieces.splice(at2,1))}let shown2=Math.max(.001,pieces.reduce((sum,piece)=>sum+piece.end-piece.start,0)),each=(99-
FOLDED*(pieces.length-1))/shown2,ticks=[],step2=stepFor(shown2*TICK/60),digits=Math.max(0,Math.ceil(-Math.log10(step2))),x=0;for(let piece of pieces){piece.x=x;
for(let time=Math.ceil(piece.start/step2)*step2;time<piece.end;time+=step2){let place=x+(time-piece.start)*each;place-(ticks.at(-1)?.x??-TICK)>=TICK&&place<100-
TICK&&ticks.push({x:place,words:`${time.toFixed(digits)} s`})}x+=(piece.end-piece.start)*each+FOLDED}let gaps=pieces.slice(1).map((piece,index)=>({x:piece.x-FOLDED,
length:piece.start-pieces[index].end}));return{at:time=>{let piece=pieces.findLast(one=>one.start<=time)??pieces[0];return piece===void 0?0:piece.x+(Math.min(Math.
max(time,piece.start),piece.end)-piece.start)*each},gaps,ticks}}function stepFor(least){let power=10**Math.floor(Math.log10(Math.max(least,1e-6)));return power*
([1,2,5].find(one=>one*power>=least)??10)}import{Fragment as Fragment5,jsx as jsx7,jsxs as jsxs6}from"./libraries-c0a40985b0.js";var KEYS2=[["j  k","next and previous row"],["[  ]","request and answer"],
["f  /","filter"],["g  G","first and last row"],["z","fold streams"],["p","pause"],["h","hold messages"],["Esc","close the message"],["?","these keys"]];function InspectorPage(){
let[help,setHelp]=useState5(!1),input=useRef4(null);useEffect4(()=>{let press=event=>{if(event.ctrlKey||event.metaKey||event.altKey||event.target instanceof HTMLTextAreaElement||
event.target instanceof HTMLSelectElement)return;if(event.target instanceof HTMLInputElement){if(event.target.form!==null)return;event.key==="Escape"&&event.target.
blur();return}let act={j:()=>step(1),k:()=>step(-1),f:()=>input.current?.focus(),"/":()=>input.current?.focus(),z:()=>folding.value=!folding.value,"[":()=>{select(
pairOf(selected.value)||selected.value)},"]":()=>{select(pairOf(selected.value)||selected.value)},g:()=>{select(shown.value[0]?.row.n??0)},G:()=>{select(shown.value.
at(-1)?.row.n??0)},p:()=>paused.value=!paused.value,h:()=>setting.value=about.value?.can_hold===!0&&!setting.value,"?":()=>setHelp(open=>!open),Escape:()=>help?
setHelp(!1):void select(0),ArrowDown:()=>step(1),ArrowUp:()=>step(-1)};if(event.key.startsWith("Arrow")&&!(event.target instanceof HTMLElement&&event.target.closest(
"[data-list]")))return;let action=act[event.key];action&&(event.preventDefault(),action())};return addEventListener("keydown",press),()=>removeEventListener("ke\
ydown",press)},[help]);let{error}=filter.value,count=times.value?.finding_count??0;return jsxs6("div",{class:chat.value?"with-chat":"alone",children:[chat.value&&
jsx7("iframe",{class:"chat-frame",src:"/",title:"Conversation","data-chat":!0}),jsxs6("main",{class:`insp${selected.value>0||count>0?" with-detail":""}`,children:[
jsx7(Bar2,{}),jsxs6("div",{class:"notices",children:[problem.value!==""&&jsx7("p",{class:"banner err",role:"alert",children:problem.value}),lockedOut.value&&jsx7(
TokenForm,{}),jsx7(Holding,{})]}),jsxs6("div",{class:"filter",children:[jsx7(FilterInput,{input,wrong:error!==""}),jsxs6(Toggle,{on:hasWord("bad:"),onClick:()=>toggleWord(
"bad:"),children:[jsx7(Icon,{name:"alert",size:14})," ",count," ",count===1?"finding":"findings"]}),jsxs6(Toggle,{on:hasWord("ms>500"),onClick:()=>toggleWord("m\
s>500"),children:["Slow ",jsx7("code",{class:"dim",children:"ms>500"})]}),jsxs6(Toggle,{on:folding.value,onClick:()=>folding.value=!folding.value,children:["Fol\
d streams",folding.value&&jsx7(Icon,{name:"check",size:13})]}),error!==""&&jsx7("p",{class:"filter-error",id:"filter-error",role:"alert",children:error})]}),jsx7(
Waterfall,{}),jsx7(List,{}),jsx7(Detail,{}),jsx7(Foot,{onHelp:()=>setHelp(!0)}),help&&jsxs6("div",{class:"keys-box",role:"dialog","aria-label":"Keys",children:[
jsx7("dl",{children:KEYS2.map(([key,what])=>jsxs6("div",{children:[jsx7("dt",{children:key.split("  ").map(one=>jsx7("kbd",{children:one},one))}),jsx7("dd",{children:what})]},
key))}),jsx7("button",{type:"button",class:"btn small",autofocus:!0,onClick:()=>setHelp(!1),children:"Close"})]})]})]})}function FilterInput({input,wrong}){let words=settled.
value,press=event=>{event.key==="Enter"&&settle()?input.current?.blur():event.key==="Backspace"&&draft.value===""&&words.length>0&&(event.preventDefault(),setFilter(
words.slice(0,-1),words.at(-1)))},remove=at=>{setFilter(words.filter((_,index)=>index!==at),draft.value),input.current?.focus()};return jsxs6("div",{class:`filt\
er-in${wrong?" wrong":""}`,onClick:event=>event.target===event.currentTarget&&input.current?.focus(),children:[jsx7(Icon,{name:"search",size:14}),jsx7("label",{
class:"hide",for:"filter",children:"Filter"}),words.map((word,index)=>jsxs6("span",{class:`piece${word.startsWith("-")?" not":""}`,"data-piece":!0,children:[jsx7(
"span",{class:"cut",children:jsx7(Visible,{text:word})}),jsx7(IconButton,{icon:"cross",size:11,label:`Remove ${word}`,onClick:()=>remove(index)})]},`${index} ${word}`)),
jsx7("input",{ref:input,id:"filter",value:draft.value,onInput:event=>setFilter(words,event.currentTarget.value),onKeyDown:press,spellcheck:!1,autocomplete:"off",
placeholder:words.length===0?"method:fs/* -kind:ntf ms>500 bad: or any text":"","aria-invalid":wrong,"aria-describedby":"filter-error","data-filter":!0}),jsx7("\
kbd",{children:"f"})]})}function Toggle({on,onClick,children}){return jsx7("button",{type:"button",class:"btn small","aria-pressed":on,onClick,children})}function TokenForm(){
let[token,setToken]=useState5(""),enter=()=>{source instanceof ServerSource&&(source.logInWith(token),problem.value="",start(source))};return jsxs6("form",{class:"\
hold-form",onSubmit:event=>{event.preventDefault(),enter()},children:[jsxs6("label",{class:"filter-in",children:[jsx7("span",{children:"Token"}),jsx7("input",{type:"\
password",value:token,onInput:event=>setToken(event.currentTarget.value),autocomplete:"off","data-token":!0})]}),jsx7("button",{type:"submit",class:"btn small p\
rimary",children:"Open"})]})}function Conversations(){let list2=conversations.value;if(list2.length<2)return null;let label=started=>new Date(started*1e3).toLocaleTimeString();
return jsxs6("label",{class:"which",children:[jsx7("span",{class:"hide",children:"Conversation"}),jsx7("select",{value:about.value?.source??"",onChange:event=>choose(
event.currentTarget.value),"data-conversations":!0,children:list2.map(each=>jsxs6("option",{value:each.id,children:[label(each.started)," ",each.name]},each.id))})]})}
function Bar2(){let told=about.value,agent=told?.header.agent??{},name2=agent.command?.map(word=>word.slice(word.lastIndexOf("/")+1)).join(" ")??agent.url??agent.
name??"";return jsxs6("header",{class:"bar",children:[jsxs6("span",{class:"brand",children:[jsx7(Icon,{name:"logo",size:18}),jsx7("span",{class:"word",children:"\
acpella"})]}),chat.value&&jsx7("a",{class:"btn quiet chat-link",href:"/",children:"Conversation"}),jsx7("span",{class:"sep"}),jsx7("h1",{class:"cut",children:jsx7(
Visible,{text:name2||told?.name||"Inspector"})}),told!==null&&(told.live?jsx7("span",{class:"badge run",children:paused.value?"paused":"live"}):jsx7("span",{class:"\
badge",children:"recorded"})),jsx7(Conversations,{}),jsx7("span",{class:"grow"}),told?.can_hold&&jsxs6("button",{type:"button",class:"btn quiet","aria-pressed":setting.
value||rule.value!==null,onClick:()=>setting.value=!setting.value,"data-hold":!0,children:[jsx7(Icon,{name:"hand",size:15}),"Hold"]}),told?.live&&jsxs6("button",
{type:"button",class:"btn quiet","aria-pressed":paused.value,onClick:()=>paused.value=!paused.value,children:[jsx7(Icon,{name:paused.value?"chevron":"pause",size:15}),
paused.value?"Go on":"Pause"]}),canSave()&&jsxs6("button",{type:"button",class:"btn",onClick:save,children:[jsx7(Icon,{name:"save",size:14}),"Save"]}),jsx7(IconButton,
{icon:"theme",label:"Light or dark",onClick:flipTheme})]})}function flipTheme(){let root=document.documentElement,dark=root.dataset.theme?root.dataset.theme==="\
dark":matchMedia("(prefers-color-scheme: dark)").matches;root.dataset.theme=dark?"light":"dark",localStorage.setItem("acpella.theme",root.dataset.theme)}function Foot({
onHelp}){let stats=times.value?.stats,told=about.value;return jsxs6("footer",{class:"status-row",children:[jsxs6("span",{"data-counts":!0,children:[rows.length,
" lines in ",shown.value.length," rows"]}),stats&&jsxs6(Fragment5,{children:[jsx7("span",{children:bytes(stats.bytes)}),jsxs6("span",{children:[stats.sessions,"\
 ",stats.sessions===1?"session":"sessions"]}),jsxs6("span",{class:stats.dropped>0?"warned":"only-wide",children:[stats.dropped," dropped"]}),jsxs6("span",{class:"\
only-wide",children:[stats.hidden," values hidden"]})]}),(told?.left_out??0)>0&&jsxs6("span",{class:"warned",children:[told.left_out," rows more; `acpella inspe\
ct FILE --rows` shows all"]}),jsxs6("span",{class:"end only-wide",children:[jsx7("kbd",{children:"j"})," ",jsx7("kbd",{children:"k"})," move"]}),jsxs6("span",{class:"\
only-wide",children:[jsx7("kbd",{children:"["})," ",jsx7("kbd",{children:"]"})," pair"]}),jsxs6("button",{type:"button",class:"keys-of",onClick:onHelp,children:[
jsx7("kbd",{children:"?"})," keys"]})]})}import{jsx as jsx8}from"./libraries-c0a40985b0.js";render(jsx8(InspectorPage,{}),document.getElementById("app"));var embedded=document.getElementById("recording")?.
textContent;if(embedded)start(new EmbeddedSource(embedded));else{let server=new ServerSource;server.logIn().then(()=>start(server),error=>problem.value=String(error instanceof
Error?error.message:error))}
