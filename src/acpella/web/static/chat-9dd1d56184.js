import{useEffect as useEffect8}from"./libraries-c0a40985b0.js";var isObj=value=>typeof value=="object"&&value!==null&&!Array.isArray(value),asObj=value=>isObj(value)?value:{},asList=value=>Array.isArray(value)?value:[],asText=value=>typeof value==
"string"?value:"",asNumber=value=>typeof value=="number"&&Number.isFinite(value)?value:null;var OUTPUT_KEPT=1024*1024;function empty(){return{items:[],calls:new Map,terminals:new Map,questions:new Map,plan:[],modes:null,models:null,options:[],commands:[],
usage:{},title:"",turn:null,n:0,version:0}}function fold(talk,event){if(!(event.n<=talk.n))switch(talk.n=event.n,talk.version++,event.k){case"update":return foldUpdate(
talk,asObj(event.update),event.t);case"prompt":return foldPrompt(talk,event);case"end":return foldEnd(talk,event);case"ask":return foldQuestion(talk,event);case"\
answered":return foldAnswer(talk,event);case"terminal":return foldTerminal(talk,event);case"state":return foldState(talk,asObj(event.state));case"chosen":return foldChosen(
talk,asText(event.what),asObj(event.params));case"gone":settle(talk,event.t),add(talk,{kind:"gone",reason:asText(event.reason),stderr:asText(event.stderr),...base(
talk,event.t)}),talk.turn=null;return;case"turn":if(event.running!==!0)return foldEnd(talk,event);talk.turn={since:talk.items.findLast(item=>item.kind==="prompt")?.
at??event.t,by:"",elsewhere:!0};return;case"client":{let off=asList(event.off).map(asText).join(", ");add(talk,{kind:"note",text:`The agent was started again wi\
th a client ${off===""?"that can do everything":`without ${off}`}`,...base(talk,event.t)});return}case"notice":add(talk,{kind:"unknown",name:asText(event.method),
raw:event.params??null,...base(talk,event.t)});return;default:add(talk,{kind:"unknown",name:event.k,raw:event,...base(talk,event.t)})}}var base=(talk,at)=>({key:`\
i${talk.n}`,at,version:0});function add(talk,item){return talk.items.push(item),item}function foldUpdate(talk,update,at){let kind=asText(update.sessionUpdate);switch(kind){case"\
agent_message_chunk":return chunk(talk,"text",update,at);case"agent_thought_chunk":return chunk(talk,"thought",update,at);case"user_message_chunk":return userChunk(
talk,update,at);case"tool_call":case"tool_call_update":return toolCall(talk,update,at);case"plan":talk.plan=asList(update.entries).filter(isObj).map(planEntry);
return;case"plan_update":{let plan=asObj(update.plan);plan.type==="items"&&(talk.plan=asList(plan.entries).filter(isObj).map(planEntry));return}case"plan_remove\
d":talk.plan=[];return;case"available_commands_update":talk.commands=asList(update.availableCommands).filter(isObj).map(one=>({name:asText(one.name),description:asText(
one.description),hint:asText(asObj(one.input).hint)}));return;case"current_mode_update":return choose(talk,"mode",asText(update.currentModeId));case"config_opti\
on_update":return foldState(talk,update);case"usage_update":talk.usage={...talk.usage,...update};return;case"notice":add(talk,{kind:"notice",severity:asText(update.
severity),title:asText(update.title),text:asText(update.description),...base(talk,at)});return;case"session_info_update":typeof update.title=="string"&&(talk.title=
update.title);return;default:add(talk,{kind:"unknown",name:kind||"update",raw:update,...base(talk,at)})}}function chunk(talk,kind,update,at){let content=asObj(update.
content);if(content.type!=="text"||typeof content.text!="string"){add(talk,{kind:"media",block:block(content),...base(talk,at)});return}let messageId=typeof update.
messageId=="string"?update.messageId:null,last=talk.items.at(-1);if(last!==void 0&&last.kind===kind&&(messageId===null||last.messageId===null||messageId===last.
messageId)){last.text+=content.text,last.messageId??=messageId,last.until=at,last.version++;return}content.text!==""&&(endText(last),add(talk,{kind,messageId,text:content.
text,until:at,done:!1,...base(talk,at)}))}function endText(item){item!==void 0&&(item.kind==="text"||item.kind==="thought")&&!item.done&&(item.done=!0,item.version++)}
function userChunk(talk,update,at){let last=talk.items.at(-1),one=block(asObj(update.content));if(!(talk.turn!==null&&talk.turn.elsewhere!==!0&&talk.items.some(
item=>item.kind==="prompt"&&item.at>=talk.turn.since))){if(last?.kind==="prompt"){let before=last.blocks.at(-1);before?.type==="text"&&one.type==="text"?before.
raw.text=asText(before.raw.text)+asText(one.raw.text):last.blocks.push(one),last.version++;return}settle(talk,at),add(talk,{kind:"prompt",by:asText(asObj(asObj(
update._meta).acpella).by),blocks:[one],...base(talk,at)})}}function toolCall(talk,update,at){let id=asText(update.toolCallId),call=talk.calls.get(id);call===void 0&&
(endText(talk.items.at(-1)),call=add(talk,{kind:"tool",id,title:"",tool:"other",status:"pending",name:"",content:[],locations:[],rawInput:void 0,rawOutput:void 0,
output:"",exit:null,until:0,question:null,decision:null,...base(talk,at)}),talk.calls.set(id,call)),typeof update.title=="string"&&(call.title=update.title),typeof update.
kind=="string"&&(call.tool=update.kind),typeof update.name=="string"&&(call.name=update.name),typeof update.status=="string"&&(call.status=update.status),Array.
isArray(update.content)&&(call.content=update.content.filter(isObj)),Array.isArray(update.locations)&&(call.locations=update.locations.filter(isObj)),update.rawInput!==
void 0&&(call.rawInput=update.rawInput),update.rawOutput!==void 0&&(call.rawOutput=update.rawOutput);let meta=asObj(update._meta),data=asObj(meta.terminal_output).
data;typeof data=="string"&&(call.output=(call.output+data).slice(-OUTPUT_KEPT)),isObj(meta.terminal_exit)&&(call.exit=meta.terminal_exit),!isOpen(call)&&call.until===
0&&(call.until=at),call.version++}var isOpen=call=>call.status==="pending"||call.status==="in_progress";function commandOf(rawInput){let words=commandField(rawInput)?.
words??[];return words.length===3&&/^(\/\S*\/)?(ba|da|z|fi)?sh$/.test(words[0])&&(words[1]==="-c"||words[1]==="-lc")?words[2]:words.join(" ")}function wholeCommand(rawInput){
let field=commandField(rawInput),beside=isObj(rawInput)?Object.fromEntries(Object.entries(rawInput).filter(([name2])=>name2!==field?.name)):rawInput==null?{}:{input:rawInput};
return field===null?{command:"",beside}:{command:field.isList?field.words.map(quoted).join(" "):field.words[0],beside}}var PIECES=[["old_string","new_string"],[
"oldString","newString"],["old_str","new_str"],["old_text","new_text"],["oldText","newText"],["old","new"]];function untold(fields,diffs,paths,cwd){let told=new Set(
diffs.flatMap(one=>[asText(one.oldText),asText(one.newText)]));new Set(paths).size===1&&told.add(paths[0]).add(relativePath(paths[0],cwd)),told.delete("");let isReplaced=(old,next)=>typeof old==
"string"&&typeof next=="string"&&old!==""&&diffs.some(one=>asText(one.oldText)!==""&&asText(one.oldText)!==asText(one.newText)&&[asText(one.oldText).replace(old,
()=>next),asText(one.oldText).replaceAll(old,()=>next)].includes(asText(one.newText))),pieces2=new Set(PIECES.filter(([old,next])=>isReplaced(fields[old],fields[next])).
flat()),isTold=value=>typeof value=="string"&&told.has(value),isAllTold=value=>Array.isArray(value)?value.length>0&&value.every(isTold):isTold(value);return Object.
fromEntries(Object.entries(fields).filter(([name2,value])=>!pieces2.has(name2)&&!isAllTold(value)))}function relativePath(path,cwd){let root=`${cwd.replace(/\/+$/,
"")}/`;return cwd!==""&&path.startsWith(root)?path.slice(root.length):path}function commandField(rawInput){let raw=asObj(rawInput);for(let name2 of["command","c\
md"]){let value=raw[name2];if(Array.isArray(value)&&value.length>0)return{name:name2,words:value.map(word=>typeof word=="string"?word:JSON.stringify(word)),isList:!0};
if(typeof value=="string"&&value!=="")return{name:name2,words:[value],isList:!1}}return null}var quoted=word=>/^[\w@%+=:,./-]+$/.test(word)?word:`'${word.replaceAll(
"'","'\\''")}'`,planEntry=one=>({content:asText(one.content),status:asText(one.status)||"pending",priority:asText(one.priority)}),block=raw=>({type:asText(raw.type)||
"unknown",raw:{...raw}});function foldPrompt(talk,event){settle(talk,event.t),talk.turn={since:event.t,by:asText(event.by)},add(talk,{kind:"prompt",by:asText(event.
by),blocks:asList(event.prompt).filter(isObj).map(block),...base(talk,event.t)})}function foldEnd(talk,event){let since=talk.turn?.since??0;talk.turn=null;let error=event.
error;if(isObj(error)){settle(talk,event.t),add(talk,{kind:"error",code:asNumber(error.code)??0,message:asText(error.message),data:error.data??null,...base(talk,
event.t)});return}let result=asObj(event.result),stop2=asText(result.stopReason)||"end_turn";if(settle(talk,event.t,stop2==="cancelled"?"cancelled":"unfinished"),
stop2==="cancelled")for(let call of talk.calls.values())call.at>=since&&call.decision?.elsewhere===!0&&(call.decision={...call.decision,elsewhere:!1});let calls=talk.
items.filter(item=>item.kind==="tool"&&item.at>=since),files=new Set(calls.flatMap(call=>diffsOf(call).map(one=>asText(one.path))));add(talk,{kind:"end",stop:stop2,
ms:asNumber(event.ms)??0,usage:asObj(result.usage),calls:calls.length,files:[...files],...base(talk,event.t)})}function settle(talk,at,status="unfinished"){endText(
talk.items.at(-1));for(let call of talk.calls.values())isOpen(call)&&(call.status=status,call.until=at,call.version++)}var diffsOf=call=>call.content.filter(one=>one.
type==="diff"&&typeof one.newText=="string");function foldQuestion(talk,event){let number=asNumber(event.q)??0,params=asObj(event.params);talk.questions.set(number,
{number,method:asText(event.method),params,at:event.t});let asked=asObj(params.toolCall);if(typeof asked.toolCallId=="string"){let before=talk.calls.get(asked.toolCallId)?.
content??[];toolCall(talk,asked,event.t);let call=talk.calls.get(asked.toolCallId);for(let one of before)call.content.some(other=>JSON.stringify(other)===JSON.stringify(
one))||(call.content=[one,...call.content]);call.question=number}}function foldAnswer(talk,event){let number=asNumber(event.q)??0,question=talk.questions.get(number);
if(talk.questions.delete(number),question===void 0)return;let outcome=asObj(asObj(event.result).outcome),chosen=asList(question.params.options).filter(isObj).find(
one=>one.optionId===outcome.optionId),decision={by:typeof event.by=="string"?event.by:null,ms:asNumber(event.ms)??0,elsewhere:event.elsewhere===!0,name:asText(chosen?.
name),optionKind:asText(chosen?.kind),cancelled:outcome.outcome!=="selected"},call=[...talk.calls.values()].find(one=>one.question===number);if(call!==void 0)call.
question=null,call.decision=decision,call.version++;else if(question.method==="elicitation/create"){let action=decision.elsewhere?"elsewhere":asText(asObj(event.
result).action)||"cancel",words={accept:"answered",decline:"declined",cancel:"left unanswered",elsewhere:"answered elsewhere"},text=`“${asText(question.params.
message)}” was ${words[action]??action}${decision.by?` by ${decision.by}`:""}`;add(talk,{kind:"note",text,...base(talk,event.t)})}}function foldState(talk,state){
isObj(state.modes)&&(talk.modes=modeSetting(state.modes)),isObj(state.models)&&(talk.models=modelSetting(state.models)),Array.isArray(state.configOptions)&&(talk.
options=state.configOptions.filter(isObj).map(optionSetting))}function foldChosen(talk,what,params){what==="mode"&&choose(talk,"mode",asText(params.modeId)),what===
"model"&&choose(talk,"model",asText(params.modelId))}function choose(talk,category,value){category==="mode"&&talk.modes!==null&&(talk.modes={...talk.modes,value}),
category==="model"&&talk.models!==null&&(talk.models={...talk.models,value}),talk.options=talk.options.map(option=>option.category===category&&option.choices.some(
one=>one.id===value)?{...option,value}:option)}function modeSetting(modes){let choices=asList(modes.availableModes).filter(isObj).map(one=>choice(one,asText(one.
id)));return{id:"mode",name:"Mode",description:"",category:"mode",type:"select",value:asText(modes.currentModeId),choices,how:"mode"}}function modelSetting(models){
let choices=asList(models.availableModels).filter(isObj).map(one=>choice(one,asText(one.modelId)));return{id:"model",name:"Model",description:"",category:"model",
type:"select",value:asText(models.currentModelId),choices,how:"model"}}function optionSetting(option){let choices=[];for(let one of asList(option.options).filter(
isObj))if(Array.isArray(one.options))for(let inner of one.options.filter(isObj))choices.push({...choice(inner,asText(inner.value)),group:asText(one.name)});else
choices.push(choice(one,asText(one.value)));let value=typeof option.currentValue=="boolean"?option.currentValue:asText(option.currentValue);return{id:asText(option.
id),name:asText(option.name)||asText(option.id),description:asText(option.description),category:asText(option.category),type:asText(option.type)||"select",value,
choices,how:"option"}}var choice=(one,id)=>({id,name:asText(one.name)||id,description:asText(one.description),group:""});function settings(talk){let covered=new Set(
talk.options.map(one=>one.category)),older=[talk.modes,talk.models].filter(one=>one!==null&&one.choices.length>0&&!covered.has(one.category)),rank=one=>["mode",
"model"].indexOf(one.category)+1||9;return[...older,...talk.options].sort((a,b)=>rank(a)-rank(b))}function foldTerminal(talk,event){let id=asText(event.id),known=talk.
terminals.get(id)??{id,command:"",output:"",exit:null,version:0};typeof event.command=="string"&&(known.command=event.command),typeof event.data=="string"&&(known.
output=(known.output+event.data).slice(-OUTPUT_KEPT)),isObj(event.exit)&&(known.exit=event.exit),known.version++,talk.terminals.set(id,known);for(let call of talk.
calls.values())call.content.some(one=>one.type==="terminal"&&one.terminalId===id)&&call.version++}function textOf(items){let whole="",id=null,another=!1;for(let item of items){
if(item.kind==="tool"&&(another=!0),item.kind!=="text")continue;if(another||=item.messageId!==null&&id!==null&&item.messageId!==id,id=item.messageId??id,!another){
whole+=item.text;continue}another=!1;let ends=whole===""?2:/\n*$/.exec(whole)[0].length,starts=/^\n*/.exec(item.text)[0].length;whole+=`
`.repeat(Math.max(0,2-ends-starts))+item.text}return whole}import{batch,computed,effect,signal as signal2}from"./libraries-c0a40985b0.js";import{signal}from"./libraries-c0a40985b0.js";var offset=Date.now()-performance.now(),now=()=>performance.now()+offset;function setNow(server){offset=server-performance.now()}function duration(ms){return ms<95?`${Math.max(1,Math.round(ms))} ms`:ms<59500?`${(ms/1e3).toFixed(1)} s`:ms<357e4?`${Math.round(ms/6e4)} min`:`${(ms/36e5).toFixed(
1)} h`}function ago(at,now2){let seconds=(now2-at)/1e3;if(seconds<60)return"now";if(seconds<3600)return`${Math.floor(seconds/60)} m`;let date=new Date(at);return new Date(
now2).toDateString()===date.toDateString()?clock(at):seconds<6*86400?date.toLocaleDateString(void 0,{weekday:"short"}):date.toLocaleDateString(void 0,{day:"nume\
ric",month:"short"})}var clock=at=>new Date(at).toLocaleTimeString(void 0,{hour:"2-digit",minute:"2-digit",hour12:!1}),day=at=>new Date(at).toLocaleDateString(void 0,
{weekday:"long",day:"numeric",month:"long"});function amount(value){return value<1e3?String(value):value<999500?`${(value/1e3).toFixed(value<99950?1:0)}k`:`${(value/
1e6).toFixed(1)}M`}function bytes(value){return value<1e3?`${value} B`:value<1e6?`${(value/1e3).toFixed(value<1e4?1:0)} kB`:`${(value/1e6).toFixed(1)} MB`}function money(value,currency){
try{return new Intl.NumberFormat("en",{style:"currency",currency,maximumFractionDigits:value<1?3:2,minimumFractionDigits:2}).format(value)}catch{return`${value.
toFixed(2)} ${currency}`}}function shortPath(path,cwd){if(cwd!==""&&path===cwd)return".";let root=cwd.endsWith("/")?cwd:`${cwd}/`;return cwd!==""&&path.startsWith(
root)?path.slice(root.length):homely(path)}var home="";function setHome(path){home=path}var homely=path=>home.length>1&&(path===home||path.startsWith(`${home}/`))?
`~${path.slice(home.length)}`:plainHome(path),plainHome=path=>path.replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/,"~").replace(/^\/root(?=\/|$)/,"~");var TOKEN="acpella.token",HANDSHAKE_MS=1e4,STEADY_MS=5e3,FIRST_DELAY=1e3,LONGEST_DELAY=3e4,WireError=class extends Error{constructor(code,message,data=null){super(
message);this.code=code;this.data=data}code;data},Lost=class extends Error{},Unwilling=class extends Error{},Connection=class{link=signal({state:"starting"});welcome=signal(
null);onNotification=()=>{};onReady=()=>{};onFrame=()=>{};#socket=null;#waiting=new Map;#next=0;#delay=FIRST_DELAY;#attempting=!1;#timer;#steady;async start(){let code=location.
hash.slice(1),session=new URLSearchParams(code).get("session");if(code&&!session){history.replaceState(null,"",location.pathname);let answer2=await fetch("/acp/\
login",{method:"POST",headers:{"Content-Type":"application/json"},body:JSON.stringify({code})});if(answer2.ok)sessionStorage.setItem(TOKEN,asText(asObj(await answer2.
json()).token));else if(!sessionStorage.getItem(TOKEN)){this.link.value={state:"login",why:(await answer2.text()).trim()};return}}sessionStorage.getItem(TOKEN)?
this.connect():this.link.value={state:"login",why:""},addEventListener("online",()=>this.retry()),document.addEventListener("visibilitychange",()=>{document.hidden||
this.retry()})}logIn(token){sessionStorage.setItem(TOKEN,token.trim()),this.link.value={state:"starting"},this.connect()}logOut(){sessionStorage.removeItem(TOKEN),
this.#socket?.close(1e3),this.link.value={state:"login",why:""}}retry(){this.link.value.state==="lost"&&this.connect()}async request(method,params){let socket=this.#socket,
isLive=this.link.value.state==="live"||method==="initialize";if(socket===null||socket.readyState!==WebSocket.OPEN||!isLive)throw new Lost("not connected");let id=++this.#next;
return new Promise((done,failed)=>{this.#waiting.set(id,{done,failed}),this.#send({jsonrpc:"2.0",id,method,params})})}notify(method,params){this.#send({jsonrpc:"\
2.0",method,params})}#send(message){let text=JSON.stringify(message);this.#socket?.send(text),this.onFrame({out:!0,at:performance.now(),text,message})}connect(){
this.#attempting||(this.#attempting=!0,clearTimeout(this.#timer),this.#attempt().catch(error=>this.#lost(error instanceof Unwilling?error.message:`Nothing answe\
rs at ${location.host}: is acpella still running there?`)))}async#attempt(){let token=sessionStorage.getItem(TOKEN)??"",answer2=await fetch("/acp/ticket",{method:"\
POST",headers:{Authorization:`Bearer ${token}`},signal:AbortSignal.timeout(HANDSHAKE_MS)});if((sessionStorage.getItem(TOKEN)??"")!==token){this.#attempting=!1,sessionStorage.
getItem(TOKEN)&&this.connect();return}if(answer2.status===401||answer2.status===403){sessionStorage.removeItem(TOKEN),this.#attempting=!1,this.link.value={state:"\
login",why:answer2.status===401?"The token does not count here, or not any more.":(await answer2.text()).trim()};return}if(!answer2.ok)throw new Unwilling((await answer2.
text()).trim()||`the server said ${answer2.status}`);let ticket=asText(asObj(await answer2.json()).ticket),scheme=location.protocol==="https:"?"wss:":"ws:",socket=new WebSocket(
`${scheme}//${location.host}/acp`,["acpella.page",`acpella.ticket.${ticket}`]);this.#socket?.close(),this.#socket=socket;let limit=setTimeout(()=>socket.close(),
HANDSHAKE_MS);socket.onopen=()=>{clearTimeout(limit),this.#greet(socket)},socket.onmessage=event=>this.#take(String(event.data)),socket.onclose=event=>{clearTimeout(
limit),this.#socket===socket&&this.#lost(event.reason)}}async#greet(socket){try{this.takeWelcome(await this.request("initialize",{protocolVersion:1,clientCapabilities:{},
clientInfo:{name:"acpella-page",version:"1"},_meta:{acpella:{page:!0}}})),this.#attempting=!1,this.link.value={state:"live"},this.#steady=setTimeout(()=>this.#delay=
FIRST_DELAY,STEADY_MS),this.onReady()}catch(error){error instanceof WireError&&(socket.onclose=null,socket.close(),this.#lost(error.message,asText(asObj(error.data).
stderr)))}}takeWelcome(answer2){let result=asObj(answer2),mine=asObj(asObj(result._meta).acpella);this.welcome.value={agentCapabilities:asObj(result.agentCapabilities),
agentInfo:asObj(result.agentInfo),authMethods:asList(result.authMethods),user:asText(mine.user),scopes:asList(mine.scopes),agent:asText(mine.agent)||asText(asObj(
result.agentInfo).title)||asText(asObj(result.agentInfo).name)||"the agent",cwd:asText(mine.cwd),inspector:mine.inspector===!0,switches:asList(mine.switches),others:asList(
mine.others),keys:asList(mine.keys)},setHome(asText(mine.home));let time=asNumber(mine.now);time!==null&&setNow(time)}#lost(why,stderr=""){this.#attempting=!1,clearTimeout(
this.#steady),this.#socket=null;let waiting=[...this.#waiting.values()];this.#waiting.clear();for(let one of waiting)one.failed(new Lost(why||"the connection is\
 lost"));if(this.link.value.state==="login")return;let delay=this.#delay*(.75+Math.random()/2);this.#delay=Math.min(this.#delay*2,LONGEST_DELAY),this.link.value=
{state:"lost",why,again:now()+delay,stderr},clearTimeout(this.#timer),this.#timer=setTimeout(()=>this.connect(),delay)}#take(text){let message;try{message=JSON.
parse(text)}catch{return}if(!isObj(message))return;if(this.onFrame({out:!1,at:performance.now(),text,message}),typeof message.method=="string"){message.id===void 0?
this.onNotification(message.method,asObj(message.params)):this.#send({jsonrpc:"2.0",id:message.id,error:{code:-32601,message:"pages answer through the log"}});return}
let waiting=typeof message.id=="number"?this.#waiting.get(message.id):void 0;if(waiting!==void 0)if(this.#waiting.delete(message.id),message.error!==void 0){let error=asObj(
message.error);waiting.failed(new WireError(Number(error.code??0),asText(error.message),error.data??null))}else waiting.done(message.result??null)}};var connection=new Connection,entries=signal2(new Map),current=signal2(null),problem=signal2(""),wire=signal2([]),WIRE_KEPT=100,WIRE_EVERY=250,NOTHING={text:"",
attached:[]},firstDraft=signal2(NOTHING),UNSENT="acpella.unsent.";function unsent(id){try{return JSON.parse(sessionStorage.getItem(UNSENT+id))??NOTHING}catch{return NOTHING}}
function keepUnsent(id,queue,draft){let blocks2=queue.flatMap(one=>one.blocks),texts=[...blocks2.filter(one=>one.type==="text").map(one=>asText(one.text)),draft.
text].filter(text=>text!==""),attached=[...blocks2.filter(one=>one.type==="image"||one.type==="audio"),...draft.attached];try{texts.length+attached.length===0?sessionStorage.
removeItem(UNSENT+id):sessionStorage.setItem(UNSENT+id,JSON.stringify({text:texts.join(`

`),attached}))}catch{}}var FRAME_CHARACTERS=24e3,EVENT_CHARACTERS=20,Talk=class{constructor(id){this.id=id;this.draft=signal2(unsent(id)),effect(()=>keepUnsent(
id,this.queue.value,this.draft.value))}id;conversation=empty();epoch="";version=signal2(0);people=signal2([]);role=signal2("controller");queue=signal2([]);loading=signal2(
!1);failure=signal2("");unsure=null;draft;opening=!1;awaited=0;#drawing=!1;#pending=[];take(epoch,events){epoch!==this.epoch&&(this.epoch=epoch,this.conversation=
empty(),this.#pending=[]);for(let event of events)this.#pending.push(event);this.draw()}#foldSome(){let room=document.hidden?1/0:FRAME_CHARACTERS,at=0;for(;at<this.#pending.
length&&room>0;){let event=this.#pending[at++];fold(this.conversation,event),room-=EVENT_CHARACTERS+asText(asObj(asObj(event.update).content).text).length}this.#pending=
at===this.#pending.length?[]:this.#pending.slice(at),this.loading.value&&this.conversation.n>=this.awaited&&(this.loading.value=!1)}draw(){if(this.#drawing)return;
this.#drawing=!0;let now2=()=>{this.#drawing=!1,batch(()=>{this.#foldSome(),this.version.value++}),this.#pending.length>0?this.draw():this.#sendNext()};document.
hidden?setTimeout(now2,100):requestAnimationFrame(now2)}get isBusy(){return this.conversation.turn!==null||this.unsure!==null||this.opening}#sendNext(){let next=this.
queue.value[0];next!==void 0&&!this.isBusy&&connection.link.value.state==="live"&&(this.queue.value=this.queue.value.slice(1),send(this,next.blocks))}},talks=new Map;
function talkOf(id){let talk=talks.get(id);return talk===void 0&&(talk=new Talk(id),talks.set(id,talk)),talk}var currentTalk=computed(()=>current.value===null?null:
talkOf(current.value)),may=scope=>connection.welcome.value?.scopes.includes(scope)??!1;connection.onNotification=(method,params)=>{if(method==="_acpella/session\
/events")talkOf(asText(params.sessionId)).take(asText(params.epoch),asList(params.events));else if(method==="_acpella/session/people")talkOf(asText(params.sessionId)).
people.value=asList(params.people);else if(method==="_acpella/sessions_changed"){let next=new Map(entries.value);for(let one of asList(params.sessions)){let entry=asObj(
one),before=next.get(entry.sessionId);next.set(entry.sessionId,{...entry,title:entry.title??before?.title??null})}for(let id of asList(params.deleted))forget(next,
asText(id));entries.value=next}else method==="_acpella/client_changed"&&connection.welcome.value!==null&&(connection.welcome.value={...connection.welcome.value,
switches:asList(params.switches)})};function forget(from,id){from.delete(id),talks.delete(id),current.value===id&&show(null)}var lines=[],wireDue=!1;connection.
onFrame=frame=>{for(let name2 of namesOf(frame)){let last=lines.at(-1);last!==void 0&&last.name===name2&&last.out===frame.out?(last.count++,last.at=frame.at):lines.
push({out:frame.out,name:name2,count:1,at:frame.at})}lines.length>WIRE_KEPT&&lines.splice(0,lines.length-WIRE_KEPT),wireDue||(wireDue=!0,setTimeout(()=>{wireDue=
!1,wire.value=[...lines]},WIRE_EVERY))};function namesOf(frame){let method=asText(frame.message.method);return method!=="_acpella/session/events"?method===""||method.
startsWith("_acpella/")?[]:[method]:asList(asObj(frame.message.params).events).map(one=>{let event=asObj(one);return event.k==="update"?asText(asObj(event.update).
sessionUpdate)||"session/update":event.k==="ask"?asText(event.method):event.k==="end"?"session/prompt answered":""}).filter(name2=>name2!=="")}connection.onReady=
()=>{refresh();let id=current.value??new URLSearchParams(location.hash.slice(1)).get("session");id!==null&&open(id)};async function refresh(){try{let next=new Map;
if(isObj(asObj(connection.welcome.value?.agentCapabilities.sessionCapabilities).list)){let known=asObj(await connection.request("session/list",{}));for(let one of asList(
known.sessions).filter(isObj))typeof one.sessionId=="string"&&next.set(one.sessionId,{...one,cwd:asText(one.cwd),state:"idle",owner:connection.welcome.value?.user})}
let opened=asObj(await connection.request("_acpella/sessions",{}));for(let[id,name2]of Object.entries(asObj(opened.names))){let entry=next.get(id);entry!==void 0&&
next.set(id,{...entry,title:asText(name2)})}for(let one of asList(opened.sessions)){let entry=asObj(one);next.set(entry.sessionId,{...entry,title:entry.title??next.
get(entry.sessionId)?.title??null})}for(let[id,entry]of entries.value)!next.has(id)&&talks.has(id)&&talks.get(id).epoch&&next.set(id,entry);entries.value=next}catch(error){
tell(error)}}function tell(error){error instanceof Lost||(problem.value=error instanceof Error?error.message:String(error))}function show(id){current.value=id,history.
replaceState(null,"",id===null?location.pathname:`#session=${encodeURIComponent(id)}`)}async function open(id){let talk=talkOf(id);if(show(id),connection.link.value.
state==="live"){talk.loading.value=talk.epoch==="",talk.failure.value="",talk.opening=!0;try{await watch(talk)}catch(error){talk.loading.value=!1,error instanceof
WireError&&(talk.failure.value=error.message)}finally{talk.opening=!1,talk.draw()}}}async function watch(talk){let ask=async()=>{let result=asObj(await connection.
request("_acpella/session/watch",{sessionId:talk.id,epoch:talk.epoch,after:talk.conversation.n}));talk.awaited=Number(result.last),talk.role.value=result.role===
"observer"?"observer":"controller",settleUnsure(talk,asText(result.epoch),Number(result.last))};try{await ask()}catch(error){if(!(error instanceof WireError)||error.
code!==-32002)throw error;let cwd=entries.value.get(talk.id)?.cwd??connection.welcome.value?.cwd??"/";await connection.request("session/load",{sessionId:talk.id,
cwd,mcpServers:[]}),await ask()}}function giveBack(talk,blocks2){talk.draft.value.text===""&&(talk.draft.value={text:blocks2.map(one=>asText(one.text)).join(""),
attached:blocks2.filter(one=>one.type!=="text")})}function settleUnsure(talk,epoch,last){let unsure=talk.unsure;if(talk.unsure=null,unsure===null)return;let settle2=()=>{
let words=JSON.stringify(unsure.blocks);talk.conversation.items.some(item=>item.kind==="prompt"&&(epoch!==talk.epoch||Number(item.key.slice(1))>unsure.after)&&JSON.
stringify(item.blocks.map(one=>one.raw))===words)||giveBack(talk,unsure.blocks)},wait=setInterval(()=>{talk.epoch===epoch&&talk.conversation.n>=last&&(clearInterval(
wait),settle2())},50);setTimeout(()=>clearInterval(wait),5e3)}async function begin(cwd){try{let result=asObj(await connection.request("session/new",{cwd:cwd??connection.
welcome.value?.cwd??"/",mcpServers:[]})),talk=talkOf(asText(result.sessionId));return await watch(talk),batch(()=>{talk.draft.value=firstDraft.value,firstDraft.
value=NOTHING,show(talk.id)}),talk}catch(error){return tell(error),null}}var queued=0,beginning=null;async function prompt(blocks2){let talk=currentTalk.value??
await(beginning??=begin().finally(()=>beginning=null));talk!==null&&(talk.isBusy||talk.queue.value.length>0?talk.queue.value=[...talk.queue.value,{key:++queued,
blocks:blocks2}]:await send(talk,blocks2))}async function send(talk,blocks2){talk.unsure={blocks:blocks2,after:talk.conversation.n};try{await connection.request(
"session/prompt",{sessionId:talk.id,prompt:blocks2}),talk.unsure=null}catch(error){error instanceof WireError&&(talk.unsure=null,(error.code===-32002||error.code===
-32003)&&(tell(error),giveBack(talk,blocks2)))}talk.draw()}function stop(){let talk=currentTalk.value;talk!==null&&connection.notify("session/cancel",{sessionId:talk.
id})}async function answer(talk,question,result){try{await connection.request("_acpella/session/answer",{sessionId:talk.id,question,result})}catch(error){tell(error)}}
async function change(method,params){let talk=currentTalk.value;if(talk===null)return null;try{return await connection.request(method,{sessionId:talk.id,...params})}catch(error){
return tell(error),null}}async function fork(id){try{let cwd=entries.value.get(id)?.cwd??connection.welcome.value?.cwd??"/",result=asObj(await connection.request(
"session/fork",{sessionId:id,cwd,mcpServers:[]}));await refresh(),await open(asText(result.sessionId))}catch(error){tell(error)}}async function remove(id){try{await connection.
request("session/delete",{sessionId:id}),batch(()=>{let next=new Map(entries.value);forget(next,id),entries.value=next})}catch(error){tell(error)}}async function switchClient(name2,on){
let off=(connection.welcome.value?.switches??[]).filter(one=>one.name===name2?!on:!one.on).map(one=>one.name);try{connection.takeWelcome(await connection.request(
"_acpella/client",{off}))}catch(error){tell(error)}}async function rename(id,title){try{await connection.request("_acpella/session/rename",{sessionId:id,title})}catch(error){
tell(error)}}var PICTURE="[\\p{So}\\p{Sk}\\p{Extended_Pictographic}]",JOINED=[["\\u1039","[\\u1000-\\u1038\\u103a-\\u109f]"],["\\u17d2","[\\u1780-\\u17b3\\u17b6-\\u17d1\\u17d3]"],
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
`).length-2} empty lines]`:hidden.length>=40?`[${hidden.length} blanks]`:`U+${(hidden.codePointAt(0)??0).toString(16).toUpperCase().padStart(4,"0")}`}var revealed=text=>parts(
text).map(part=>part.text).join(""),countHidden=text=>[...text.matchAll(HIDDEN)].length,plain=text=>text.replace(/\s*\n\s*|[ \t]+/g," ").replace(HIDDEN,name).trim();import{signal as signal3}from"./libraries-c0a40985b0.js";var panels={side:signal3(!1),right:signal3(localStorage.getItem("acpella.panel")!=="closed"),keys:signal3(
!1),palette:signal3(null),menu:signal3(!1),renaming:signal3(!1),inviting:signal3(!1),deleting:signal3(!1),review:signal3(!1),view:signal3("chat")};import{useState as useState3}from"./libraries-c0a40985b0.js";import{jsx}from"./libraries-c0a40985b0.js";var PATHS={chevron:"m6 3.5 4.5 4.5L6 12.5",down:"m3.5 6 4.5 4.5L12.5 6",check:"m3 8.5 3.3 3.3L13 4.6",cross:"m4 4 8 8\
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
PATHS[name2]})})}var KINDS={read:"read",edit:"edit",execute:"execute",fetch:"fetch",delete:"delete",move:"move",search:"search",think:"think",switch_mode:"shiel\
d",other:"other"},kindIcon=kind=>KINDS[kind]??"other";import{useEffect,useLayoutEffect,useRef,useState}from"./libraries-c0a40985b0.js";import{Fragment,jsx as jsx2,jsxs}from"./libraries-c0a40985b0.js";function IconButton({icon,label,onClick,class:own="",pressed,size=16,expanded}){return jsx2("bu\
tton",{type:"button",class:`icon ${own}`,"aria-label":label,title:label,"aria-pressed":pressed,"aria-expanded":expanded,onClick,children:jsx2(Icon,{name:icon,size})})}
var WORDS={running:"running",waiting:"waiting for you",done:"done",failed:"failed",idle:""},GLYPHS={running:"spin",waiting:null,done:"check",failed:"cross",idle:"\
chat"};function StateGlyph({state}){let glyph=GLYPHS[state];return jsxs("span",{class:`st ${state}`,children:[glyph!==null&&jsx2(Icon,{name:glyph,size:14}),WORDS[state]!==
""&&jsx2("span",{class:"hide",children:WORDS[state]})]})}function Avatar({name:name2,big=!1}){let sum=0;for(let character of name2)sum=(sum*31+character.codePointAt(
0))%997;return jsx2("span",{class:`avatar p${sum%4+1}${big?" big":""}`,"aria-hidden":"true",children:([...name2][0]??"?").toUpperCase()})}function Visible({text}){
return jsx2(Fragment,{children:parts(text).map((part,index)=>part.hidden?jsx2("span",{class:"ghost",children:part.text},index):part.text)})}function CopyButton({
text,label="Copy"}){let[done,setDone]=useState(!1),copy=async()=>{await navigator.clipboard.writeText(text()),setDone(!0),setTimeout(()=>setDone(!1),1500)};return jsx2(
IconButton,{icon:done?"check":"copy",size:14,label:done?"Copied":label,onClick:()=>{copy()}})}function Meter({share,small=!1,label}){let width=`${Math.min(100,Math.
max(0,share*100)).toFixed(1)}%`;return jsx2("svg",{class:`meter${small?" small":""}`,role:label===void 0?void 0:"img","aria-label":label,"aria-hidden":label===void 0,
children:jsx2("rect",{width,height:"100%",rx:"2"})})}function Keys({keys}){return jsx2("span",{class:"key-row",children:keys.map(key=>jsx2("kbd",{children:key},
key))})}var origins=new WeakMap;function origin(dialog){let place=origins.get(dialog)??null;for(;place!==null&&!place.isConnected;){let owner=place.closest("dia\
log");place=owner===null?null:origins.get(owner)??null}return place instanceof HTMLElement?place:null}function Modal({label,class:own="",onClose,children}){let dialog=useRef(
null);return useLayoutEffect(()=>{let shown=dialog.current;return origins.set(shown,document.activeElement),shown.open||shown.showModal(),()=>{shown.close(),origin(
shown)?.focus()}},[]),jsx2("dialog",{ref:dialog,class:`dialog ${own}`,"aria-label":label,onCancel:event=>{event.preventDefault(),onClose()},onClick:event=>{event.
target===dialog.current&&onClose()},children})}function useNow(every,active=!0){let[time,setTime]=useState(now);return useEffect(()=>{if(!active)return;let timer=setInterval(
()=>setTime(now()),every);return()=>clearInterval(timer)},[every,active]),time}var isMac=/Mac|iPhone|iPad/.test(navigator.platform),MOD=isMac?"⌘":"Ctrl";import{useLayoutEffect as useLayoutEffect2,useRef as useRef3,useState as useState2}from"./libraries-c0a40985b0.js";import{useEffect as useEffect2,useRef as useRef2}from"./libraries-c0a40985b0.js";import{Fragment as Fragment2,jsx as jsx3,jsxs as jsxs2}from"./libraries-c0a40985b0.js";function Choices({label,choices,at,onPick,id,title,foot}){let list2=useRef2(
null);useEffect2(()=>list2.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({block:"nearest"}),[at]);let group="";return jsxs2("div",{class:"pop",
children:[title!==void 0&&jsx3("div",{class:"pop-group",children:title}),jsx3("div",{class:"pop-list",role:"listbox","aria-label":label,id,ref:list2,children:choices.
map((one,index)=>[one.group!==void 0&&one.group!==""&&one.group!==group?jsx3("div",{class:"pop-group",role:"presentation",children:plain(group=one.group)},`g${index}`):
null,jsxs2("div",{id:`${id}-${index}`,class:"opt",role:"option","aria-selected":index===at,onPointerDown:event=>event.preventDefault(),onClick:()=>onPick(index),
children:[one.icon!==void 0&&one.icon!=="ring"&&jsx3(Icon,{name:one.icon}),jsx3("b",{class:one.mono?"mono":void 0,children:jsx3(MarkedTitle,{title:plain(one.title),
query:one.query??""})}),jsx3("span",{class:"cut grow",children:plain(one.detail??"")}),one.end!==void 0&&one.end!==""&&jsx3("span",{class:"dim",children:plain(one.
end)}),one.isSet===!0&&jsx3(Icon,{name:"check",size:14,class:"set"}),one.keys?.map(key=>jsx3("kbd",{children:key},key))]},index)])}),foot!==void 0&&jsx3("div",{
class:"pop-foot",children:foot.map(([key,word])=>jsxs2("span",{children:[jsx3("kbd",{children:key}),word]},key))})]})}function MarkedTitle({title,query}){let at=query===
""?-1:title.toLowerCase().indexOf(query.toLowerCase());return at<0?jsx3(Fragment2,{children:title}):jsxs2(Fragment2,{children:[title.slice(0,at),jsx3("mark",{children:title.
slice(at,at+query.length)}),title.slice(at+query.length)]})}import{jsx as jsx4,jsxs as jsxs3}from"./libraries-c0a40985b0.js";var openPalette=(query="")=>{panels.palette.value=query};function matching(all,query){let words=query.
toLowerCase().split(/\s+/).filter(word=>word!==""),text=one=>`${one.title} ${one.detail??""}`.toLowerCase();return all.filter(one=>words.every(word=>text(one).includes(
word))).slice(0,50)}function Palette(){let start=panels.palette.value;return start===null?null:jsx4(Opened,{start})}function Opened({start}){let[query,setQuery]=useState2(
start),[at,setAt]=useState2(0),input=useRef3(null),found=matching(actions(),query),close=()=>{panels.palette.value=null};useLayoutEffect2(()=>{input.current?.focus(),
input.current?.setSelectionRange(99,99)},[]);let run=index=>{let action=found[index];close(),action?.run()};return jsxs3(Modal,{label:"Palette",class:"palette",
onClose:close,children:[jsxs3("div",{class:"palette-in",children:[jsx4(Icon,{name:"search"}),jsx4("input",{ref:input,class:"bare",role:"combobox","aria-label":"\
What to do","aria-expanded":"true","aria-controls":"palette-list","aria-activedescendant":`palette-list-${at}`,placeholder:"Search for actions and sessions",value:query,
onInput:event=>{setQuery(event.currentTarget.value),setAt(0)},onKeyDown:event=>{event.key==="ArrowDown"||event.key==="ArrowUp"?(event.preventDefault(),setAt((at+
(event.key==="ArrowDown"?1:found.length-1))%Math.max(1,found.length))):event.key==="Enter"&&(event.preventDefault(),run(at))}})]}),found.length===0?jsx4("p",{class:"\
dim nothing",children:"Nothing is called that."}):jsx4(Choices,{label:"Actions",id:"palette-list",at,onPick:run,choices:found.map(one=>({...one,query:query.trim().
split(/\s+/).at(-1)??""})),foot:[["↑↓","move"],["↵","run"],["Esc","close"]]})]})}import{Fragment as Fragment3,jsx as jsx5,jsxs as jsxs4}from"./libraries-c0a40985b0.js";var timeOf=entry=>typeof entry.updatedAt=="number"?entry.updatedAt:Date.parse(
entry.updatedAt??"")||0,titleOf=entry=>plain(entry?.title??"")||"Untitled session";function sorted(list2){return[...list2].sort((a,b)=>timeOf(b)-timeOf(a))}var GROUPS=[
["Waiting for you",one=>one.state==="waiting"],["Running",one=>one.state==="running"],["Done",one=>one.state==="done"||one.state==="failed"],["Earlier",one=>one.
state==="idle"]],FIRST=40;function Sessions(){let now2=useNow(3e4),[all,setAll]=useState3(!1),list2=sorted(entries.value.values()),welcome=connection.welcome.value;
return jsxs4("nav",{class:"side","aria-label":"Sessions",children:[jsxs4("div",{class:"bar",children:[jsxs4("button",{type:"button",class:"brand",onClick:()=>show(
null),children:[jsx5(Icon,{name:"logo",size:18}),"acpella"]}),jsx5("span",{class:"grow"}),jsx5(IconButton,{icon:"plus",label:"New session",onClick:()=>show(null)})]}),
jsxs4("button",{type:"button",class:"side-find",onClick:()=>openPalette("session "),children:[jsx5(Icon,{name:"search",size:14}),jsx5("span",{class:"cut grow",children:"\
Search sessions"}),jsx5("span",{children:jsxs4("kbd",{children:[MOD," K"]})})]}),jsxs4("div",{class:"side-list",children:[list2.length===0&&welcome!==null&&jsxs4(
"p",{class:"side-empty",children:["No sessions in ",jsx5("span",{class:"mono",children:homely(welcome.cwd)})," yet."]}),GROUPS.map(([name2,belongs])=>{let found=list2.
filter(belongs);if(found.length===0)return null;let shown=all?found:found.slice(0,FIRST);return jsxs4("section",{children:[jsx5("h2",{children:name2}),shown.map(
entry=>jsx5(Row,{entry,now:now2},entry.sessionId)),shown.length<found.length&&jsx5("button",{type:"button",class:"linkish side-more",onClick:()=>setAll(!0),children:`\
Show all ${found.length}`})]},name2)})]}),jsxs4("div",{class:"side-foot",children:[jsx5(LinkLight,{}),jsx5(IconButton,{icon:"theme",label:"Light or dark",onClick:toggleTheme}),
jsx5(IconButton,{icon:"help",label:"Keys",onClick:()=>panels.keys.value=!0})]})]})}function LinkLight(){let state=connection.link.value.state,words={live:location.
host,lost:connection.welcome.value===null?"No agent":"Connection lost",starting:"Connecting",login:"Not logged in",over:"Ended"};return jsxs4(Fragment3,{children:[
jsx5("span",{class:`live is-${state}`}),jsx5("span",{class:"cut grow",children:words[state]})]})}var WANTS={"session/request_permission":"wants a permission","e\
licitation/create":"has a question"},WANTS_TO={edit:"wants to edit a file",execute:"wants to run a command",delete:"wants to delete a file",move:"wants to move \
a file",fetch:"wants to fetch a page"};function Row({entry,now:now2}){let me=connection.welcome.value?.user,folder=homely(entry.cwd).split("/").at(-1)||homely(entry.
cwd);return jsxs4("button",{type:"button",class:"session","aria-current":current.value===entry.sessionId,"data-state":entry.state,onClick:()=>{panels.side.value=
!1,open(entry.sessionId)},children:[jsx5(StateGlyph,{state:entry.state}),jsx5("b",{children:titleOf(entry)}),jsx5("time",{children:timeOf(entry)===0?"":ago(timeOf(
entry),now2)}),jsxs4("small",{children:[entry.state==="waiting"&&jsxs4("span",{class:"ask",children:[WANTS_TO[entry.waitsTool??""]??WANTS[entry.waitsFor??""]??"\
waits for you"," · "]}),plain(folder),entry.owner!==void 0&&entry.owner!==me&&entry.owner!==""&&` · of ${plain(entry.owner)}`]})]})}function toggleTheme(){let root=document.documentElement,dark=root.dataset.theme!==void 0?root.dataset.theme==="dark":matchMedia("(prefers-color-scheme: dark)").
matches;root.dataset.theme=dark?"light":"dark",localStorage.setItem("acpella.theme",root.dataset.theme)}function togglePanel(){panels.right.value=!panels.right.
value,localStorage.setItem("acpella.panel",panels.right.value?"open":"closed")}var can=name2=>{let offered=connection.welcome.value?.agentCapabilities.sessionCapabilities;
return isObj(offered)&&isObj(offered[name2])};function exportMarkdown(){let talk=currentTalk.value;if(talk===null)return;let lines2=[`# ${titleOf(entries.value.
get(talk.id))}`,""];for(let item of talk.conversation.items)item.kind==="prompt"?lines2.push(`## ${item.by||"You"}`,"",item.blocks.map(one=>one.type==="text"?asText(
one.raw.text):`[${one.type}]`).join(`
`),""):item.kind==="text"?lines2.push(textOf([item]),""):item.kind==="tool"&&lines2.push(`- ${item.title} (${item.status})`,"");save(lines2.join(`
`),"md","text/markdown")}function exportJson(){let talk=currentTalk.value;if(talk===null)return;let{items,plan,usage,title}=talk.conversation;save(JSON.stringify(
{sessionId:talk.id,title,plan,usage,items},null,2),"json","application/json")}function save(text,ending,kind){let link=document.createElement("a");link.href=URL.
createObjectURL(new Blob([text],{type:kind})),link.download=`${titleOf(entries.value.get(current.value??"")).replace(/[^\w -]+/g,"").slice(0,60)||"session"}.${ending}`,
link.click(),setTimeout(()=>URL.revokeObjectURL(link.href),1e3)}function nextWaiting(){let waiting=sorted(entries.value.values()).filter(one=>one.state==="waiti\
ng"&&one.sessionId!==current.value);waiting[0]!==void 0&&open(waiting[0].sessionId)}async function askForNotifications(){"Notification"in window&&await Notification.
requestPermission()}function sessionActions(){let id=current.value;if(id===null)return[];let actions2=[{title:"Rename the session…",icon:"edit",run:()=>panels.
renaming.value=!0},{title:"Invite somebody…",detail:"to watch, or to work along",icon:"people",run:()=>panels.inviting.value=!0},{title:"Review the changes",detail:"\
all files of this session",icon:"code",run:()=>panels.review.value=!0},{title:"Export as Markdown",icon:"save",run:exportMarkdown},{title:"Export as JSON",icon:"\
save",run:exportJson}];return can("fork")&&actions2.push({title:"Fork the session",detail:"a copy that goes its own way",icon:"fork",run:()=>{fork(id)}}),can("d\
elete")&&actions2.push({title:"Delete the session…",icon:"delete",run:()=>panels.deleting.value=!0}),actions2}function actions(){let all=[{title:"New session",
icon:"plus",keys:["g","c"],run:()=>show(null)},...sessionActions(),{title:"Next session that waits",icon:"alert",keys:["g","n"],run:nextWaiting},{title:"Side pa\
nel",detail:"plan, files, usage, people, wire",icon:"panel",keys:["g","p"],run:togglePanel},{title:"Light or dark",icon:"theme",run:toggleTheme},{title:"Keys",icon:"\
help",keys:["?"],run:()=>panels.keys.value=!0},{title:"Tell me when something waits",detail:"a notification while this tab is hidden",icon:"alert",run:()=>{askForNotifications()}},
{title:"List the sessions again",icon:"retry",run:()=>{refresh()}},{title:"Log out",icon:"logout",run:()=>connection.logOut()}];currentTalk.value?.conversation.
turn!=null&&all.unshift({title:"Stop the agent",icon:"stop",keys:["Esc","Esc"],run:stop});for(let entry of sorted(entries.value.values()).slice(0,200))all.push(
{title:titleOf(entry),detail:`session · ${entry.state==="idle"?"earlier":entry.state}${timeOf(entry),""}`,icon:"chat",run:()=>{open(entry.sessionId)}});return all}
var KEYS=[["Everywhere",[["Palette",[MOD,"K"]],["These keys",["?"]],["New session",["g","c"]],["Next session that waits",["g","n"]],["Side panel",["g","p"]],["S\
top the agent",["Esc","Esc"]]]],["Writing",[["Send",["↵"]],["New line",["⇧","↵"]],["Commands",["/"]],["Files",["@"]],["The last prompt again",["↑"]],["T\
o the input",["i"]]]],["Questions",[["Choose an answer",["1","…","9"]],["Move",["↑","↓"]],["Reject",["Esc"]]]]];import{useState as useState4}from"./libraries-c0a40985b0.js";import{jsx as jsx6,jsxs as jsxs5}from"./libraries-c0a40985b0.js";function Client(){let[busy,setBusy]=useState4(""),switches=connection.welcome.value?.switches??
[];if(switches.length===0)return null;let off=switches.filter(one=>!one.on),flip=async(name2,on)=>{setBusy(name2),await switchClient(name2,on),setBusy("")};return jsxs5(
"details",{class:"client","data-client":!0,children:[jsxs5("summary",{children:[jsx6(Icon,{name:"plug",size:14}),jsx6("b",{children:"Client"}),jsx6("span",{class:"\
cut grow",children:off.length===0?"can do everything":`without ${off.map(one=>one.name).join(", ")}`}),jsx6(Icon,{name:"down",size:12})]}),jsxs5("fieldset",{disabled:busy!==
"","aria-busy":busy!=="",children:[jsx6("legend",{class:"hide",children:"What the client can do"}),switches.map(one=>jsxs5("label",{class:"pick",children:[jsx6(
"input",{type:"checkbox",checked:one.on!==(busy===one.name),onChange:event=>{flip(one.name,event.currentTarget.checked)}}),jsxs5("span",{children:[plain(one.words),
" ",jsx6("code",{children:one.name})]})]},one.name)),jsx6("p",{class:"dim",children:"The agent is started again at each change: a client says once what it can d\
o."})]})]})}import{useEffect as useEffect3,useLayoutEffect as useLayoutEffect3,useRef as useRef4,useState as useState5}from"./libraries-c0a40985b0.js";import{Fragment as Fragment4,jsx as jsx7,jsxs as jsxs6}from"./libraries-c0a40985b0.js";var MOST_IMAGE=10*1024*1024,TWICE=1500;function Composer({talk}){talk?.version.
value;let written=talk===null?firstDraft:talk.draft,draft=written.value,setDraft=next=>{written.value=next},area=useRef4(null),[chosen,setChosen]=useState5(0),[
place,setPlace]=useState5(0),[closed,setClosed]=useState5(""),[files,setFiles]=useState5({query:null,found:[]}),wanted=useRef4(null),early=useRef4(null),links=useRef4(
new Map),escaped=useRef4(-1/0),[hint,setHint]=useState5(""),running=talk!==null&&talk.conversation.turn!==null,capabilities=asObj(connection.welcome.value?.agentCapabilities.
promptCapabilities),canWrite=may("prompt")&&(talk===null||talk.role.value==="controller"),agent=plain(connection.welcome.value?.agent??"the agent");useLayoutEffect3(
()=>{let box=area.current;box!==null&&(box.style.blockSize="0",box.style.blockSize=`${Math.min(Math.max(box.scrollHeight,42),innerHeight*.4)}px`,wanted.current!==
null&&(box.focus(),box.setSelectionRange(wanted.current,wanted.current),wanted.current=null))},[draft.text]),useLayoutEffect3(()=>{matchMedia("(pointer: coarse)").
matches||area.current?.focus()},[talk,canWrite]);let caret=Math.min(place,draft.text.length),before=draft.text.slice(0,caret),slash=/^\/([\w:.-]*)$/.exec(before),
at=/(?:^|\s)@([^\s@]*)$/.exec(before);useEffect3(()=>{if(at===null||!canWrite)return;let query=at[1],over=!1,timer=setTimeout(()=>{let params=talk===null?{query}:
{query,sessionId:talk.id};connection.request("_acpella/files",params).then(result=>{over||setFiles({query,found:asList(asObj(result).files).map(one=>suggestFile(
asObj(one),query))})},()=>!over&&setFiles({query,found:[]}))},60);return()=>{over=!0,clearTimeout(timer)}},[at?.[1]]);let commands=slash===null||talk===null?[]:
suggestCommands(talk.conversation.commands,slash[1]),suggestions=closed===before?[]:slash!==null?commands:at!==null?files.found:[],isLate=closed!==before&&slash===
null&&at!==null&&canWrite&&connection.link.value.state==="live"&&files.query!==at[1],picked=Math.min(chosen,suggestions.length-1),insert=one=>{let start=slash!==
null?0:caret-at[1].length-1,text=`${draft.text.slice(0,start)}${one.insert} ${draft.text.slice(caret).replace(/^\s/,"")}`;one.block!==void 0&&links.current.set(
one.insert,one.block),setDraft({...draft,text}),setChosen(0);let next=start+one.insert.length+1;setPlace(next),wanted.current=next},submit=()=>{let draft2=written.
value,text=draft2.text.trim();if(!canWrite||text===""&&draft2.attached.length===0||connection.link.value.state!=="live")return;let named=[...links.current].filter(
([name2])=>text.includes(name2)).map(([,block3])=>block3);links.current.clear();let blocks2=[...text===""?[]:[{type:"text",text}],...named,...draft2.attached];setDraft(
{text:"",attached:[]}),prompt(blocks2)};useLayoutEffect3(()=>{let key=early.current;key===null||isLate||(early.current=null,suggestions[0]!==void 0?insert(suggestions[0]):
key==="Enter"&&submit())},[files]);let onKey=event=>{if(!event.isComposing){if(suggestions.length>0){if(event.key==="ArrowDown"||event.key==="ArrowUp"){event.preventDefault(),
setChosen((picked+(event.key==="ArrowDown"?1:suggestions.length-1))%suggestions.length);return}if(event.key==="Tab"||event.key==="Enter"&&!event.shiftKey){event.
preventDefault(),isLate?early.current=event.key:insert(suggestions[picked]);return}if(event.key==="Escape"){event.preventDefault(),event.stopPropagation(),setClosed(
before);return}}if(isLate&&(event.key==="Tab"||event.key==="Enter")&&!event.shiftKey)event.preventDefault(),early.current=event.key;else if(event.key==="Enter"&&
!event.shiftKey&&!event.altKey)event.preventDefault(),submit();else if(event.key==="Escape"&&running)event.timeStamp-escaped.current<TWICE?(stop(),setHint(""),escaped.
current=-1/0):(setHint("Press Esc again to stop the agent"),setTimeout(()=>setHint(""),TWICE),escaped.current=event.timeStamp);else if(event.key==="ArrowUp"&&draft.
text===""&&talk!==null){let last=talk.conversation.items.findLast(item=>item.kind==="prompt");last?.kind==="prompt"&&(event.preventDefault(),setDraft({...draft,
text:last.blocks.filter(one=>one.type==="text").map(one=>asText(one.raw.text)).join(`
`)}))}}},attach=async list2=>{for(let file of list2){let kind=file.type.startsWith("image/")?"image":file.type.startsWith("audio/")?"audio":"";if(kind===""||capabilities[kind]!==
!0)tell(new Error(kind===""?`${file.name} is neither a picture nor a sound`:`${agent} takes no ${kind==="image"?"pictures":"sound"}`));else if(file.size>MOST_IMAGE)
tell(new Error(`${file.name} has ${bytes(file.size)}; at most ${bytes(MOST_IMAGE)} can be sent`));else{let data=await base64(file);setDraft({...written.value,attached:[
...written.value.attached,{type:kind,mimeType:file.type,data,_meta:{name:file.name,size:file.size}}]})}}},lost=connection.link.value.state!=="live",words=connection.
welcome.value===null?"":canWrite?running?"Add to the queue. The agent is working.":innerWidth>720?`Message ${agent}: / for commands, @ for files`:`Message ${agent}`:
"You watch this session",all=talk===null?[]:settings(talk.conversation);return jsx7("div",{class:"dock",children:jsxs6("div",{class:"composer",onDragOver:event=>event.
preventDefault(),onDrop:event=>{event.preventDefault(),event.dataTransfer!==null&&attach(event.dataTransfer.files)},children:[suggestions.length>0&&jsx7(Choices,
{label:slash!==null?"Commands":"Files",choices:suggestions,at:picked,onPick:index=>insert(suggestions[index]),id:"suggestions",foot:[["Tab","complete"],["Esc","\
close"]]}),talk?.queue.value.map(queued2=>jsxs6("div",{class:"queue",children:[jsx7(Icon,{name:"clock",size:14}),jsxs6("span",{class:"cut grow",children:["Queue\
d: ",plain(queued2.blocks.map(one=>asText(one.text)).join(" "))]}),jsx7("button",{type:"button",class:"btn quiet small",onClick:()=>{talk.queue.value=talk.queue.
value.filter(one=>one!==queued2),setDraft({text:queued2.blocks.map(one=>asText(one.text)).join(""),attached:queued2.blocks.filter(one=>one.type==="image"||one.type===
"audio")})},children:"Edit"}),jsx7(IconButton,{icon:"cross",size:14,label:"Do not send it",onClick:()=>talk.queue.value=talk.queue.value.filter(one=>one!==queued2)})]},
queued2.key)),draft.attached.length>0&&jsx7("div",{class:"attach in-composer",children:draft.attached.map((one,index)=>jsxs6("span",{class:"shot",children:[jsx7(
Icon,{name:"image",size:14}),jsxs6("span",{children:[jsx7("b",{children:plain(asText(asObj(one._meta).name))||asText(one.type)}),jsx7("small",{children:bytes(asNumber(
asObj(one._meta).size)??0)})]}),jsx7(IconButton,{icon:"cross",size:12,label:"Remove",onClick:()=>setDraft({...draft,attached:draft.attached.filter(other=>other!==
one)})})]},index))}),jsx7("textarea",{ref:area,"aria-label":"Prompt",placeholder:words,value:draft.text,disabled:!canWrite,rows:1,autoComplete:"off","aria-autoc\
omplete":"list","aria-controls":suggestions.length>0?"suggestions":void 0,"aria-activedescendant":suggestions.length>0?`suggestions-${picked}`:void 0,onInput:event=>{
early.current=null,setDraft({...written.value,text:event.currentTarget.value}),setPlace(event.currentTarget.selectionStart),setChosen(0)},onSelect:event=>setPlace(
event.currentTarget.selectionStart),onKeyDown:onKey,onPaste:event=>{let pasted=[...event.clipboardData?.files??[]];pasted.length>0&&(event.preventDefault(),attach(
pasted))}}),jsxs6("div",{class:"composer-row",children:[capabilities.image===!0&&jsx7(AttachButton,{onFiles:list2=>{attach(list2)}}),jsx7("span",{class:"chips g\
row",children:all.map(setting=>jsx7(SettingChip,{setting,disabled:!canWrite||!may("approve")},`${setting.how}-${setting.id}`))}),jsx7("span",{class:"composer-hi\
nt",role:"status",children:hint}),talk!==null&&jsx7(UsageChip,{usage:talk.conversation.usage}),running&&draft.text.trim()===""&&draft.attached.length===0?jsx7("\
button",{type:"button",class:"send stop","aria-label":"Stop the agent",title:"Stop the agent",onClick:stop,disabled:!canWrite,children:jsx7(Icon,{name:"stop"})}):
jsx7("button",{type:"button",class:"send","aria-label":running?"Add to the queue":"Send",title:running?"Add to the queue":"Send",onClick:submit,disabled:!canWrite||
lost||draft.text.trim()===""&&draft.attached.length===0,children:jsx7(Icon,{name:"send"})})]})]})})}function base64(file){return new Promise((done,failed)=>{let reader=new FileReader;
reader.onload=()=>done(String(reader.result).replace(/^[^,]*,/,"")),reader.onerror=()=>failed(reader.error??new Error("the file cannot be read")),reader.readAsDataURL(
file)})}function suggestFile(one,query){let path=asText(one.path);return{title:path,mono:!0,icon:/\.(png|jpe?g|gif|webp|svg)$/i.test(path)?"image":"read",detail:"",
query,insert:`@${path}`,block:{type:"resource_link",uri:asText(one.uri),name:path}}}function suggestCommands(commands,query){let low=query.toLowerCase();return commands.
filter(one=>one.name.toLowerCase().includes(low)).sort((a,b)=>Number(b.name.toLowerCase().startsWith(low))-Number(a.name.toLowerCase().startsWith(low))).slice(0,
12).map(one=>({title:`/${one.name}`,icon:"slash",detail:one.description,end:one.hint===""?"":`[${one.hint}]`,query,insert:`/${one.name}`}))}function AttachButton({
onFiles}){let input=useRef4(null);return jsxs6(Fragment4,{children:[jsx7(IconButton,{icon:"image",label:"Attach an image",onClick:()=>input.current?.click()}),jsx7(
"input",{ref:input,type:"file",accept:"image/*",multiple:!0,hidden:!0,onChange:event=>{event.currentTarget.files!==null&&onFiles(event.currentTarget.files),event.
currentTarget.value=""}})]})}function UsageChip({usage}){let used=asNumber(usage.used),size=asNumber(usage.size),cost=asObj(usage.cost),spent=asNumber(cost.amount);
if(used===null&&spent===null)return null;let parts2=[];return used!==null&&size!==null&&size>0?parts2.push(`${Math.round(used/size*100)} %`):used!==null&&parts2.
push(`${amount(used)} tokens`),spent!==null&&parts2.push(money(spent,asText(cost.currency)||"USD")),jsxs6("span",{class:"usage only-wide",children:[used!==null&&
size!==null&&size>0&&jsx7(Meter,{share:used/size,small:!0}),parts2.join(" · ")]})}function SettingChip({setting,disabled}){let[open2,setOpen]=useState5(!1),chip=useRef4(
null),set=value=>{setOpen(!1),chip.current?.focus(),setting.how==="mode"?change("session/set_mode",{modeId:value}):setting.how==="model"?change("session/set_mod\
el",{modelId:value}):change("session/set_config_option",setting.type==="boolean"?{configId:setting.id,type:"boolean",value}:{configId:setting.id,value})};if(setting.
type==="boolean")return jsx7("button",{type:"button",class:"chip switch",role:"switch","aria-checked":setting.value===!0,disabled,title:plain(setting.description),
onClick:()=>set(setting.value!==!0),children:plain(setting.name)});let current2=setting.choices.find(one=>one.id===setting.value),isMain=setting.category==="mod\
e"||setting.category==="model";return jsxs6("span",{class:"chip-box",children:[jsxs6("button",{ref:chip,type:"button",class:"chip","aria-haspopup":"listbox","ar\
ia-expanded":open2,disabled,"aria-label":`${plain(setting.name)}: ${plain(current2?.name??String(setting.value))}`,onClick:()=>setOpen(!open2),children:[setting.
category==="mode"&&jsx7(Icon,{name:"shield",size:14}),!isMain&&jsx7("span",{class:"key",children:plain(setting.name)}),jsx7("span",{class:"cut",children:plain(current2?.
name??String(setting.value))}),jsx7(Icon,{name:"down",size:11})]}),open2&&jsx7(SettingList,{setting,onPick:set,onClose:()=>{setOpen(!1),chip.current?.focus()}})]})}
function SettingList({setting,onPick,onClose}){let[at,setAt]=useState5(Math.max(0,setting.choices.findIndex(one=>one.id===setting.value))),box=useRef4(null);useLayoutEffect3(
()=>{box.current?.focus();let outside=event=>{box.current?.contains(event.target)||onClose()};return document.addEventListener("pointerdown",outside,!0),()=>document.
removeEventListener("pointerdown",outside,!0)},[]);let choices=setting.choices.map(one=>({title:one.name,detail:one.description,group:one.group,icon:"ring",isSet:one.
id===setting.value}));return jsx7("div",{ref:box,class:"pop-at",tabIndex:-1,onKeyDown:event=>{event.key==="ArrowDown"||event.key==="ArrowUp"?(event.preventDefault(),
setAt((at+(event.key==="ArrowDown"?1:choices.length-1))%choices.length)):event.key==="Enter"||event.key===" "?(event.preventDefault(),onPick(setting.choices[at].
id)):(event.key==="Escape"||event.key==="Tab")&&(event.preventDefault(),event.stopPropagation(),onClose())},children:jsx7(Choices,{label:plain(setting.name),choices,
at,onPick:index=>onPick(setting.choices[index].id),id:`set-${setting.id}`,title:plain(setting.name)})})}var focusComposer=()=>document.querySelector(".composer \
textarea")?.focus();import{useState as useState7}from"./libraries-c0a40985b0.js";import{diffWordsWithSpace,useMemo,useState as useState6}from"./libraries-c0a40985b0.js";import{diffLines}from"./libraries-c0a40985b0.js";var MOST_LINES=2e3,MOST_EDITS=1500;function compareLines(before,after){let hunks=[];return compare(split(before),
split(after),hunks,!0),hunks}var split=text=>text.match(/[^\n]*\n|[^\n]+$/g)??[];function put(hunks,kind,lines2){let last=hunks.at(-1);if(last?.kind===kind)for(let line2 of lines2)
last.lines.push(line2);else lines2.length>0&&hunks.push({kind,lines:lines2})}function compare(old,now2,hunks,anchored){let head=0;for(;head<old.length&&head<now2.
length&&old[head]===now2[head];)head++;let tail=0;for(;tail<old.length-head&&tail<now2.length-head&&old.at(-1-tail)===now2.at(-1-tail);)tail++;put(hunks,"same",
old.slice(0,head)),between(old.slice(head,old.length-tail),now2.slice(head,now2.length-tail),hunks,anchored),put(hunks,"same",old.slice(old.length-tail))}function between(old,now2,hunks,anchored){
let pairs=anchored&&old.length+now2.length>MOST_LINES?anchors(old,now2):[];if(pairs.length>0){let[o,n]=[0,0];for(let[atOld,atNow]of[...pairs,[old.length,now2.length]])
compare(old.slice(o,atOld),now2.slice(n,atNow),hunks,!1),put(hunks,"same",old.slice(atOld,atOld+1)),[o,n]=[atOld+1,atNow+1];return}let parts2=old.length*now2.length<=
1?void 0:diffLines(old.join(""),now2.join(""),{maxEditLength:MOST_EDITS});if(parts2===void 0)put(hunks,"del",old),put(hunks,"add",now2);else for(let part of parts2)
put(hunks,part.added?"add":part.removed?"del":"same",split(part.value))}function anchors(old,now2){let places=lines2=>{let found2=new Map;return lines2.forEach(
(line2,at)=>found2.set(line2,found2.has(line2)?-1:at)),found2},inNow=places(now2),ends=[];for(let[line2,atOld]of places(old)){let atNow=inNow.get(line2)??-1;if(atOld<
0||atNow<0)continue;let[low,high]=[0,ends.length];for(;low<high;){let middle=low+high>>1;ends[middle].at[1]<atNow?low=middle+1:high=middle}ends[low]={at:[atOld,
atNow],before:ends[low-1]}}let found=[];for(let link=ends.at(-1);link!==void 0;link=link.before)found.push(link.at);return found.reverse()}import{signal as signal4}from"./libraries-c0a40985b0.js";import{Fragment as Fragment5,jsx as jsx8,jsxs as jsxs7}from"./libraries-c0a40985b0.js";var loaded=signal4(null),loading=!1,MOST=6e4;function highlighter(){return loading||
(loading=!0,import("./highlighter-68daee1318.js").then(module=>loaded.value=module.highlight)),loaded.value}var EXTENSIONS={py:"python",pyi:"python",js:"javascr\
ipt",mjs:"javascript",jsx:"javascript",ts:"typescript",tsx:"typescript",rs:"rust",go:"go",java:"java",c:"c",h:"c",cc:"c",cpp:"c",hpp:"c",html:"xml",xml:"xml",svg:"\
xml",json:"json",sh:"bash",bash:"bash",sql:"sql",toml:"ini",cfg:"ini",ini:"ini",yml:"yaml",yaml:"yaml"},languageOf=path=>EXTENSIONS[/\.(\w+)$/.exec(path)?.[1]?.
toLowerCase()??""]??"";function pieces(text,language){return(language!==""&&text.length<MOST?highlighter()?.(text,language):null)??[{text,kind:""}]}function pieceLines(text,language){
let lines2=[[]];for(let piece of pieces(text,language)){let[first,...rest]=piece.text.split(`
`);lines2.at(-1).push({text:first??"",kind:piece.kind});for(let one of rest)lines2.push([{text:one,kind:piece.kind}])}return lines2}var Pieces=({of})=>jsx8(Fragment5,
{children:of.map((piece,index)=>piece.kind?jsx8("span",{class:piece.kind,children:piece.text},index):piece.text)});function Code({text,language,settled}){return jsxs7(
"div",{class:"code",children:[jsxs7("div",{class:"code-head",children:[jsx8("span",{children:language||"text"}),jsx8("span",{class:"grow"}),jsx8(CopyButton,{text:()=>text})]}),
jsx8("pre",{tabIndex:0,children:jsx8("code",{children:settled?jsx8(Pieces,{of:pieces(text,language.toLowerCase())}):text})})]})}import{Fragment as Fragment6,jsx as jsx9,jsxs as jsxs8}from"./libraries-c0a40985b0.js";var CONTEXT=3,MOST_SHOWN=400,MOST_MARKED=400;function rowsOf(before,after){
let rows=[],b=1,a=1;for(let{kind,lines:lines2}of compareLines(before,after))for(let line2 of lines2)rows.push({kind,text:line2.replace(/\n$/,""),before:kind==="\
add"?null:b++,after:kind==="del"?null:a++,marks:[]});return markWords(rows),rows}function markWords(rows){let left=MOST_MARKED;for(let at=0;at<rows.length&&left>
0;at++){if(rows[at].kind!=="del")continue;let end=at;for(;rows[end]?.kind==="del";)end++;let last=end;for(;rows[last]?.kind==="add";)last++;let pairs=Math.min(end-
at,last-end);for(let n=0;n<pairs&&left-- >0;n++){let removed=rows[end-pairs+n],added=rows[last-pairs+n];if(removed.text.length+added.text.length>2e3)continue;let words=diffWordsWithSpace(
removed.text,added.text);if(words.filter(one=>!one.added&&!one.removed).reduce((sum,one)=>sum+one.value.trim().length,0)*2<Math.min(removed.text.trim().length,added.
text.trim().length))continue;let r=0,a=0;for(let one of words)one.removed?removed.marks.push([r,r+=one.value.length]):one.added?added.marks.push([a,a+=one.value.
length]):(r+=one.value.length,a+=one.value.length);removed.marks=joined(removed),added.marks=joined(added)}at=last-1}}function joined({text,marks}){let found=[];
for(let mark of marks){let last=found.at(-1);last!==void 0&&mark[0]-last[1]<=2?last[1]=mark[1]:found.push(mark)}for(let mark of found){for(;mark[0]<mark[1]&&text[mark[0]]===
" ";)mark[0]++;for(;mark[0]<mark[1]&&text[mark[1]-1]===" ";)mark[1]--}return found.filter(([start,end])=>start<end)}function folded(rows){let shown=[],run=[],flush=atEnd=>{
let head=shown.length===0?0:CONTEXT,tail=atEnd?0:CONTEXT;run.length>head+tail+1?shown.push(...run.slice(0,head),{kind:"gap",count:run.length-head-tail,key:run[head].
before??0,rows:run.slice(head,run.length-tail)},...run.slice(run.length-tail)):shown.push(...run),run=[]};for(let row of rows)row.kind==="same"?run.push(row):(flush(
!1),shown.push(row));return flush(!0),shown}function Diff({path,before,after,sides,whole=!1}){let[opened,setOpened]=useState6(new Set),[all,setAll]=useState6(whole),
rows=useMemo(()=>rowsOf(before,after),[before,after]),language=languageOf(path),colours=useMemo(()=>({before:pieceLines(before,language),after:pieceLines(after,
language)}),[before,after,language,highlighter()!==null]),shown=folded(rows).flatMap(row=>row.kind==="gap"&&opened.has(row.key)?row.rows:[row]),hidden=all?0:Math.
max(0,shown.length-MOST_SHOWN);hidden>0&&(shown=shown.slice(0,MOST_SHOWN));let open2=key=>setOpened(new Set([...opened,key])),text=row=>marked((row.kind==="del"?
colours.before[(row.before??1)-1]:colours.after[(row.after??1)-1])??[{text:row.text,kind:""}],row.marks);return jsxs8("div",{class:"diff-wrap",tabIndex:0,role:"\
region","aria-label":`Change of ${path}`,children:[jsx9("table",{class:sides?"diff sides":"diff",children:jsx9("tbody",{children:sides?sideRows(shown,text,open2):
shown.map((row,index)=>jsx9(UnifiedRow,{row,text,open:open2},index))})}),hidden>0&&jsx9("button",{type:"button",class:"linkish more-rows",onClick:()=>setAll(!0),
children:`Show ${hidden} more lines`})]})}function GapRow({gap,open:open2,span}){return jsx9("tr",{class:"h",children:jsx9("td",{colSpan:span,children:jsx9("but\
ton",{type:"button",class:"linkish",onClick:()=>open2(gap.key),children:`${gap.count} equal ${gap.count===1?"line":"lines"}`})})})}function UnifiedRow({row,text,
open:open2}){if(row.kind==="gap")return jsx9(GapRow,{gap:row,open:open2,span:4});let sign=row.kind==="add"?"+":row.kind==="del"?"−":"";return jsxs8("tr",{class:row.
kind==="add"?"a":row.kind==="del"?"r":void 0,children:[jsx9("td",{class:"ln","data-n":row.before??""}),jsx9("td",{class:"ln","data-n":row.after??""}),jsx9("td",
{class:"sg","data-s":sign,children:sign!==""&&jsx9("span",{class:"hide",children:sign==="+"?"added":"removed"})}),jsx9("td",{class:"tx",children:jsx9(Marked,{of:text(
row)})})]})}function sideRows(rows,text,open2){let made=[];for(let at=0;at<rows.length;){let row=rows[at];if(row.kind==="gap")made.push(jsx9(GapRow,{gap:row,open:open2,
span:4},at)),at++;else if(row.kind==="same")made.push(jsx9(SideRow,{left:row,right:row,text},at)),at++;else{let start=at,removed=[],added=[];for(let one=rows[at];one!==
void 0&&(one.kind==="del"||one.kind==="add");one=rows[++at])(one.kind==="del"?removed:added).push(one);for(let n=0;n<Math.max(removed.length,added.length);n++)made.
push(jsx9(SideRow,{left:removed[n],right:added[n],text},`${start}.${n}`))}}return made}function SideRow({left,right,text}){let kind=row=>row===void 0?"z":row.kind===
"del"?"r":row.kind==="add"?"a":"";return jsxs8("tr",{children:[jsx9("td",{class:`ln ${kind(left)}`,"data-n":left?.before??""}),jsx9("td",{class:`tx ${kind(left)}`,
children:left!==void 0&&jsx9(Marked,{of:text(left)})}),jsx9("td",{class:`ln mid ${kind(right)}`,"data-n":right?.after??""}),jsx9("td",{class:`tx ${kind(right)}`,
children:right!==void 0&&jsx9(Marked,{of:text(right)})})]})}function marked(of,marks){if(marks.length===0)return of;let cut=[],at=0;for(let piece of of){let text=piece.
text;for(;text!=="";){let mark=marks.find(([,end])=>end>at),inside=mark!==void 0&&mark[0]<=at,until=mark===void 0?text.length:(inside?mark[1]:mark[0])-at,part=text.
slice(0,Math.max(1,until));cut.push({text:part,kind:inside?`${piece.kind}!`:piece.kind}),at+=part.length,text=text.slice(part.length)}}return cut}function Marked({
of}){return jsxs8(Fragment6,{children:[of.map((piece,index)=>piece.kind.endsWith("!")?jsx9("mark",{class:piece.kind.slice(0,-1),children:piece.text},index):jsx9(
Pieces,{of:[piece]},index)),`
`]})}import{Fragment as Fragment7,jsx as jsx10,jsxs as jsxs9}from"./libraries-c0a40985b0.js";function Dialogs(){return jsxs9(Fragment7,{children:[panels.keys.value&&
jsx10(KeyList,{}),panels.renaming.value&&jsx10(Rename,{}),panels.inviting.value&&jsx10(Invite,{}),panels.deleting.value&&jsx10(Delete,{}),panels.review.value&&jsx10(
Review,{})]})}function KeyList(){return jsx10(Modal,{label:"Keys",class:"keys-dialog",onClose:()=>panels.keys.value=!1,children:jsx10("div",{class:"keys",children:KEYS.
map(([title,keys])=>jsxs9("div",{children:[jsx10("h2",{children:title}),jsx10("ul",{children:keys.map(([word,combination])=>jsxs9("li",{children:[word,jsx10(Keys,
{keys:combination})]},word))})]},title))})})}function Rename(){let id=current.value??"",[title,setTitle]=useState7(titleOf(entries.value.get(id))),close=()=>{panels.
renaming.value=!1};return jsx10(Modal,{label:"Rename the session",class:"small",onClose:close,children:jsxs9("form",{onSubmit:event=>{event.preventDefault(),rename(
id,title),close()},class:"dialog-form",children:[jsx10("label",{for:"new-title",children:"Name of the session"}),jsx10("input",{id:"new-title",class:"field",value:title,
maxLength:200,onInput:event=>setTitle(event.currentTarget.value)}),jsxs9("footer",{class:"row-end",children:[jsx10("button",{type:"button",class:"btn quiet",onClick:close,
children:"Cancel"}),jsx10("button",{type:"submit",class:"btn primary",children:"Rename"})]})]})})}function Invite(){let[user,setUser]=useState7(""),[role,setRole]=useState7(
"observer"),[done,setDone]=useState7(""),close=()=>{panels.inviting.value=!1},submit=async event=>{event.preventDefault();try{await connection.request("_acpella\
/session/invite",{sessionId:current.value??"",user:user.trim(),role}),setDone(user.trim()),setUser("")}catch(error){tell(error)}};return jsx10(Modal,{label:"Inv\
ite somebody",class:"small",onClose:close,children:jsxs9("form",{onSubmit:event=>{submit(event)},class:"dialog-form",children:[jsx10("label",{for:"invited",children:"\
User name on this server"}),jsx10("input",{id:"invited",class:"field",value:user,required:!0,autoComplete:"off",onInput:event=>setUser(event.currentTarget.value)}),
jsx10("p",{class:"hint",children:"The name that stands in the server's token file. The session then shows in their list."}),jsxs9("fieldset",{children:[jsx10("l\
egend",{children:"They may"}),[["observer","watch"],["controller","prompt, and approve if their token allows it"]].map(([value,words])=>jsxs9("label",{class:"pi\
ck",children:[jsx10("input",{type:"radio",name:"role",checked:role===value,onChange:()=>setRole(value)}),jsx10("span",{children:words})]},value))]}),done!==""&&
jsxs9("p",{class:"hint",role:"status",children:[done," is invited."]}),jsxs9("footer",{class:"row-end",children:[jsx10("button",{type:"button",class:"btn quiet",
onClick:close,children:"Close"}),jsx10("button",{type:"submit",class:"btn primary",children:"Invite"})]})]})})}function Delete(){let id=current.value??"",close=()=>{
panels.deleting.value=!1};return jsx10(Modal,{label:"Delete the session",class:"small",onClose:close,children:jsxs9("div",{class:"dialog-form",children:[jsxs9("\
h2",{children:["Delete “",titleOf(entries.value.get(id)),"”?"]}),jsx10("p",{class:"dim",children:"The agent deletes the conversation. Files that it changed \
stay as they are."}),jsxs9("footer",{class:"row-end",children:[jsx10("button",{type:"button",class:"btn quiet",onClick:close,children:"Keep it"}),jsxs9("button",
{type:"button",class:"btn danger",onClick:()=>{close(),remove(id)},children:[jsx10(Icon,{name:"delete",size:14}),"Delete"]})]})]})})}function Review(){let talk=currentTalk.
value,[sides,setSides]=useState7(innerWidth>1e3),close=()=>{panels.review.value=!1};if(talk===null)return null;talk.version.value;let cwd=entries.value.get(talk.
id)?.cwd??"",diffs=talk.conversation.items.flatMap(item=>item.kind==="tool"&&item.status==="completed"?diffsOf(item):[]);return jsxs9(Modal,{label:"Changes of t\
his session",class:"wide",onClose:close,children:[jsxs9("header",{class:"dialog-head plain-head",children:[jsx10("h2",{children:"Changes of this session"}),jsxs9(
"span",{class:"tabs",role:"group","aria-label":"Layout",children:[jsx10("button",{type:"button","aria-pressed":!sides,onClick:()=>setSides(!1),children:"Unified"}),
jsx10("button",{type:"button","aria-pressed":sides,onClick:()=>setSides(!0),children:"Split"})]}),jsx10("button",{type:"button",class:"icon","aria-label":"Close",
onClick:close,children:jsx10(Icon,{name:"cross"})})]}),jsxs9("div",{class:"dialog-body",children:[diffs.length===0&&jsx10("p",{class:"dim",children:"Nothing was\
 changed through the agent's edits."}),diffs.map((diff,index)=>jsxs9("div",{class:"what",children:[jsx10("div",{class:"file-head mono",children:shortPath(asText(
diff.path),cwd)}),jsx10(Diff,{path:asText(diff.path),before:asText(diff.oldText),after:asText(diff.newText),sides})]},index))]})]})}import{effect as effect2,useEffect as useEffect4}from"./libraries-c0a40985b0.js";function useNotices(){useEffect4(()=>{let told=new Set;return effect2(()=>{let all=[...entries.value.values()],waiting=all.filter(one=>one.state==="waiting"),shown=entries.
value.get(current.value??""),mark=waiting.length>0?"(!) ":shown?.state==="running"?"● ":"";document.title=`${mark}${shown===void 0?"acpella":`${titleOf(shown)}\
 · acpella`}`;for(let entry of all)if(entry.state!=="waiting")told.delete(entry.sessionId);else if(!told.has(entry.sessionId)&&(told.add(entry.sessionId),document.
hidden&&"Notification"in window&&Notification.permission==="granted")){let notice=new Notification(`${titleOf(entry)} waits for you`,{body:connection.welcome.value?.
agent??"",tag:entry.sessionId});notice.onclick=()=>{focus(),open(entry.sessionId),notice.close()}}})},[])}import{useMemo as useMemo4}from"./libraries-c0a40985b0.js";var counts=new WeakMap;function count(diff){let known=counts.get(diff);if(known===void 0){known=[0,0];for(let{kind,lines:lines2}of compareLines(asText(diff.oldText),
asText(diff.newText)))kind!=="same"&&(known[kind==="add"?0:1]+=lines2.length);counts.set(diff,known)}return known}function changesOf(items){let found=new Map;for(let item of items)
if(!(item.kind!=="tool"||item.status!=="completed"))for(let diff of diffsOf(item)){let path=asText(diff.path),[added,removed]=count(diff),known=found.get(path)??
{path,added:0,removed:0};found.set(path,{path,added:known.added+added,removed:known.removed+removed})}return[...found.values()]}var waitingEdits=talk=>[...talk.
calls.values()].filter(call=>call.question!==null&&diffsOf(call).length>0).length;import{Component as Component2,useState as useState11}from"./libraries-c0a40985b0.js";import{useEffect as useEffect5,useMemo as useMemo2,useState as useState9}from"./libraries-c0a40985b0.js";var SCHEMES=["http:","https:","mailto:"];function linkOf(href,text){let url;try{url=new URL(href)}catch{return null}if(!SCHEMES.includes(url.protocol))return null;
let host=url.protocol==="mailto:"?url.pathname:url.host;return{href:url.href,host,deceives:looksLikeOther(text.trim(),url)}}function looksLikeOther(text,url){let claimed=/^(?:https?:\/\/)?((?:[\w-]+\.)+[a-z]{2,})(?:[/:?#]\S*)?$/i.
exec(text)?.[1];if(claimed===void 0||url.protocol==="mailto:")return!1;let bare=name2=>name2.toLowerCase().replace(/^www\./,"");return bare(claimed)!==bare(url.
hostname)&&bare(claimed)!==bare(url.host)}function filePath(uri){if(!uri.startsWith("file://"))return null;try{return decodeURIComponent(new URL(uri).pathname)}catch{
return null}}import{Component,lexer,useState as useState8}from"./libraries-c0a40985b0.js";import{Fragment as Fragment8,jsx as jsx11,jsxs as jsxs10}from"./libraries-c0a40985b0.js";var MOST2=4e5,ENDS=1e4,CHUNK=24;function warmUp(){let all=`# a

b *c* **d** \`e\` [f](g) <h> ~~i~~ https://j.k

- l
  1. m

> n

\`\`\`o
p
\`\`\`

| q |
|---|
| r |
`;for(let round=0;round<20;round++)lexer(all)}var Markdown=class extends Component{#settled=[[]];#at=0;#seen="";shouldComponentUpdate(next){return next.text!==this.
props.text||next.done!==this.props.done}render({text,done}){if(text.length>MOST2)return jsx11(Long,{text});(!text.startsWith(this.#seen.slice(0,64))||text.length<
this.#at)&&this.#reset(),this.#seen=text;let tail=read(text.slice(this.#at));for(;tail.length>2;){let block3=tail.shift();this.#settled.at(-1).length>=CHUNK&&this.#settled.
push([]),this.#settled.at(-1).push(block3),this.#at+=block3.raw.length}return jsxs10(Fragment8,{children:[this.#settled.map((tokens,index)=>jsx11(Settled,{tokens,
count:tokens.length},index)),tail.map((token,index)=>jsx11(Block,{token,settled:done},`t${index}`))]})}#reset(){this.#settled=[[]],this.#at=0}};function Long({text}){
let[all,setAll]=useState8(!1);return all?jsx11("pre",{class:"plain",children:text}):jsxs10(Fragment8,{children:[jsx11("pre",{class:"plain",children:text.slice(0,
ENDS)}),jsxs10("div",{class:"term-cut",children:[jsx11("span",{children:`${amount(text.length-2*ENDS)} characters are not shown`}),jsx11("button",{type:"button",
class:"linkish",onClick:()=>setAll(!0),children:"Show all"})]}),jsx11("pre",{class:"plain",children:text.slice(-ENDS)})]})}var Settled=class extends Component{shouldComponentUpdate(next){
return next.count!==this.props.count}render({tokens}){let blocks2=tokens.map((token,index)=>jsx11(Block,{token,settled:!0},index));return tokens.length<CHUNK?blocks2:
jsx11("div",{class:"settled",children:blocks2})}};function read(text){try{return lexer(text,{gfm:!0})}catch{return[{type:"paragraph",raw:text,text,tokens:[{type:"\
text",raw:text,text}]}]}}var Block=class extends Component{shouldComponentUpdate(next){return next.token.raw!==this.props.token.raw||next.settled!==this.props.settled}render({
token,settled}){return block2(token,settled)}};function block2(token,settled){switch(token.type){case"space":case"def":return null;case"heading":{let inside=inline(
token.tokens);return token.depth<=2?jsx11("h2",{children:inside}):jsx11("h3",{children:inside})}case"paragraph":return jsx11("p",{children:inline(token.tokens)});case"\
text":return jsx11("p",{children:inline(token.tokens??[token])});case"code":{let code=token;return jsx11(Code,{text:code.text,language:(code.lang??"").split(/\s/)[0]??
"",settled})}case"blockquote":return jsx11("blockquote",{children:blocks(token.tokens,settled)});case"hr":return jsx11("hr",{});case"list":return list(token,settled);case"\
table":return table(token);case"html":return jsx11("p",{class:"as-is",children:token.raw.trim()});default:return jsx11("p",{children:token.raw})}}var blocks=(tokens,settled)=>tokens.
map((token,index)=>jsx11(Block,{token,settled},index));function list(token,settled){let items=token.items.map((item,index)=>jsxs10("li",{class:item.task?"task":
void 0,children:[item.task&&jsx11("span",{class:"task-box",role:"img","aria-label":item.checked?"done":"open",children:item.checked&&jsx11(Icon,{name:"check",size:11})}),
item.tokens.filter(one=>one.type!=="checkbox").map((one,at)=>one.type==="text"?jsx11("span",{children:inline(one.tokens??[one])},at):jsx11(Block,{token:one,settled},
at))]},index));return token.ordered?jsx11("ol",{start:typeof token.start=="number"?token.start:1,children:items}):jsx11("ul",{children:items})}function table(token){
let side=index=>token.align[index]==="right"?"end":token.align[index]==="center"?"mid":void 0;return jsx11("div",{class:"scroll-x",tabIndex:0,role:"region","ari\
a-label":"Table",children:jsxs10("table",{children:[jsx11("thead",{children:jsx11("tr",{children:token.header.map((cell,index)=>jsx11("th",{class:side(index),children:inline(
cell.tokens)},index))})}),jsx11("tbody",{children:token.rows.map((row,at)=>jsx11("tr",{children:row.map((cell,index)=>jsx11("td",{class:side(index),children:inline(
cell.tokens)},index))},at))})]})})}function inline(tokens){return(tokens??[]).map((token,index)=>jsx11(Inline,{token},index))}function Inline({token}){switch(token.
type){case"text":case"escape":{let inner=token.tokens;return inner!==void 0&&inner.length>0?inline(inner):jsx11(Visible,{text:unescape(token.text)})}case"strong":
return jsx11("strong",{children:inline(token.tokens)});case"em":return jsx11("em",{children:inline(token.tokens)});case"del":return jsx11("s",{children:inline(token.
tokens)});case"codespan":return jsx11("code",{children:jsx11(Visible,{text:unescape(token.text)})});case"br":return jsx11("br",{});case"link":{let link=token;return jsx11(
Anchor,{href:link.href,text:link.text,children:inline(link.tokens)})}case"image":{let image=token;return jsx11(Elsewhere,{what:"image",href:image.href,text:image.
text})}default:return jsx11(Visible,{text:token.raw})}}function unescape(text){return text.replace(/&(amp|lt|gt|quot|#39);/g,(whole,name2)=>({amp:"&",lt:"<",gt:"\
>",quot:'"',"#39":"'"})[name2]??whole)}function Anchor({href,text,children}){let link=linkOf(href,text);return link===null?jsx11("span",{class:"no-link",title:href,
children}):jsxs10(Fragment8,{children:[jsx11("a",{href:link.href,target:"_blank",rel:"noopener noreferrer",title:link.href,children}),(link.deceives||!text.includes(
link.host))&&jsxs10("span",{class:link.deceives?"leads wrong":"leads",children:[link.deceives&&jsx11(Icon,{name:"alert",size:12}),link.host]})]})}function Elsewhere({
what,href,text}){return jsxs10("span",{class:"elsewhere",children:[jsx11(Icon,{name:"image",size:14}),jsx11("span",{children:text||what})," ",jsx11(Anchor,{href,
text:"",children:"open"})]})}import{Fragment as Fragment9,jsx as jsx12,jsxs as jsxs11}from"./libraries-c0a40985b0.js";var IMAGES=["image/png","image/jpeg","image/gif","image/webp","image/av\
if","image/bmp","image/svg+xml"];function useBlob(data,kind){let made=useMemo2(()=>{try{let text=atob(data.replace(/\s/g,"")),buffer=new Uint8Array(text.length);
for(let at=0;at<text.length;at++)buffer[at]=text.charCodeAt(at);return{url:URL.createObjectURL(new Blob([buffer],{type:kind})),size:buffer.length}}catch{return null}},
[data,kind]);return useEffect5(()=>()=>{made!==null&&URL.revokeObjectURL(made.url)},[made]),made}function Picture({data,kind,name:name2}){let blob=useBlob(data,
kind),[size,setSize]=useState9(""),[large,setLarge]=useState9(!1),[broken,setBroken]=useState9(!1);return!IMAGES.includes(kind)||blob===null||broken?jsxs11("p",
{class:"note warn",children:[jsx12(Icon,{name:"alert",size:14}),jsxs11("span",{children:["An image that cannot be shown (",plain(kind)||"no type",")."]})]}):jsxs11(
Fragment9,{children:[jsxs11("button",{type:"button",class:"shot",onClick:()=>setLarge(!0),"aria-label":`Show ${name2} larger`,children:[jsx12("img",{src:blob.url,
alt:name2,width:"56",height:"38",onError:()=>setBroken(!0),onLoad:event=>setSize(`${event.currentTarget.naturalWidth} × ${event.currentTarget.naturalHeight} · `)}),
jsxs11("span",{children:[jsx12("b",{children:name2}),jsxs11("small",{children:[size,bytes(blob.size)]})]})]}),large&&jsx12(Modal,{label:name2,class:"picture",onClose:()=>setLarge(
!1),children:jsx12("img",{src:blob.url,alt:name2})})]})}function Sound({data,kind}){let blob=useBlob(data,kind);return blob===null?jsx12("p",{class:"note warn",
children:"A sound that cannot be played."}):jsxs11("figure",{class:"sound",children:[jsx12("audio",{controls:!0,src:blob.url}),jsxs11("figcaption",{children:[plain(
kind)," · ",bytes(blob.size)]})]})}function ContentBlock({block:block3,done=!0}){let raw=block3.raw;switch(block3.type){case"text":return jsx12("div",{class:"p\
rose",children:jsx12(Markdown,{text:asText(raw.text),done})});case"image":return typeof raw.data!="string"||raw.data===""?jsx12(FileLink,{uri:asText(raw.uri),name:"\
image",size:null}):jsx12(Picture,{data:raw.data,kind:asText(raw.mimeType),name:nameOf(asText(raw.uri))||"image"});case"audio":return jsx12(Sound,{data:asText(raw.
data),kind:asText(raw.mimeType)});case"resource_link":return jsx12(FileLink,{uri:asText(raw.uri),name:asText(raw.title)||asText(raw.name),size:asNumber(raw.size)});case"\
resource":{let resource=asObj(raw.resource);return typeof resource.blob=="string"&&IMAGES.includes(asText(resource.mimeType))?jsx12(Picture,{data:resource.blob,
kind:asText(resource.mimeType),name:nameOf(asText(resource.uri))}):jsxs11("details",{class:"fold",children:[jsxs11("summary",{children:[jsx12(Icon,{name:"chevro\
n",size:12,class:"chev"}),jsx12("span",{class:"mono",children:nameOf(asText(resource.uri))||"resource"})]}),jsx12("pre",{class:"raw",children:jsx12(Visible,{text:asText(
resource.text)||"(not text)"})})]})}default:return jsx12(Raw,{value:raw})}}var nameOf=uri=>plain(decode(uri.split(/[/\\]/).at(-1)??""));function decode(text){try{
return decodeURIComponent(text)}catch{return text}}function FileLink({uri,name:name2,size}){let path=filePath(uri),link=linkOf(uri,"");return jsxs11("span",{class:"\
file-link",children:[jsx12(Icon,{name:link===null?"read":"fetch",size:14}),link===null?jsx12("span",{class:"mono",children:plain(path??(name2||uri))}):jsx12(Anchor,
{href:uri,text:name2,children:plain(name2||uri)}),size!==null&&jsx12("small",{children:bytes(size)}),link===null&&jsx12(CopyButton,{text:()=>path??uri,label:"Co\
py the path"})]})}function Raw({value,name:name2}){let text=useMemo2(()=>{let whole=JSON.stringify(value,null,2)??"undefined";return whole.length>2e5?`${whole.slice(
0,2e5)}
… ${whole.length-2e5} more characters`:whole},[value]);return jsxs11("pre",{class:"raw",tabIndex:0,"aria-label":name2??"Raw data",children:[name2!==void 0&&jsxs11(
"span",{class:"c",children:[name2," "]}),jsx12(Visible,{text})]})}import{useMemo as useMemo3,useState as useState10}from"./libraries-c0a40985b0.js";import{Anser}from"./libraries-c0a40985b0.js";var COLOURS={black:"8",red:"1",green:"2",yellow:"3",blue:"4",magenta:"5",cyan:"6",white:"7"};function terminalLines(output){
return clean(output).split(`
`).map(line)}function clean(output){return output.replace(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)/g,"").replace(/\u001b[P^_X][^\u001b]*(?:\u001b\\|$)/g,"").
replace(/\r\n/g,`
`).replace(/\u001b\[[0-9;?]*[A-JL-Zac-ln-z]/g,"").replace(/\u001b[()#%][A-Za-z0-9]|\u001b[=>78cDEHMNOZ]/g,"").replace(/[\u0000-\u0007\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g,
"")}function line(text){return(text.includes("\r")||text.includes("\b")||text.includes("\x1B[K")||/\u001b\[[012]K/.test(text))&&(text=overwritten(text)),Anser.ansiToJson(
text,{json:!0,remove_empty:!0,use_classes:!0}).map(one=>({text:one.content.replace(/\u001b/g,""),kind:kindOf(one)}))}function overwritten(text){let segments=text.
split("\r"),shown="";for(let segment of segments){let rest=segment.replace(/^(?:\u001b\[[0-9;]*m)*\u001b\[[02]?K/,()=>(shown="","")).replace(/\u001b\[[012]?K/g,
""),width=rest.replace(/\u001b\[[0-9;]*m/g,"").length,plainBefore=shown.replace(/\u001b\[[0-9;]*m/g,"");shown=width===0?shown:rest+plainBefore.slice(width)}for(;/[^\b]\u0008/.
test(shown);)shown=shown.replace(/[^\b]\u0008/,"");return shown.replace(/\u0008/g,"")}function kindOf(one){let kinds=[],colour=value=>COLOURS[(value??"").replace(
/^ansi-(?:bright-)?/,"")],fore=colour(one.fg),back=colour(one.bg);fore!==void 0&&kinds.push(`fg-${fore}`),back!==void 0&&kinds.push(`bg-${back}`);let decorations=one.
decorations??[];return decorations.includes("bold")&&kinds.push("b"),decorations.includes("underline")&&kinds.push("u"),decorations.includes("reverse")&&kinds.push(
"v"),decorations.includes("dim")&&kinds.push("fg-8"),kinds.join(" ")}import{Fragment as Fragment10,jsx as jsx13,jsxs as jsxs12}from"./libraries-c0a40985b0.js";var LAST=24,MOST3=5e3;function TerminalOutput({output,command,whole=!1}){
let[all,setAll]=useState10(whole),lines2=useMemo3(()=>terminalLines(output.replace(/\n$/,"")),[output]),long=lines2.length>LAST+4,shown=all||!long?lines2.slice(
-MOST3):lines2.slice(-LAST);return jsxs12(Fragment10,{children:[long&&jsxs12("div",{class:"term-cut",children:[jsx13("span",{children:shown.length<lines2.length?
`Last ${shown.length} of ${lines2.length} lines`:`${lines2.length} lines`}),jsx13("button",{type:"button",class:"linkish","aria-expanded":all,onClick:()=>setAll(
!all),children:all?"Show the end":"Show all"})]}),jsxs12("pre",{class:"term",tabIndex:0,"aria-label":"Output",children:[command!==""&&jsxs12("span",{class:"cmd",
children:[jsx13(Visible,{text:command}),`
`]}),shown.map((line2,index)=>jsx13(Line,{runs:line2,last:index===shown.length-1},index))]})]})}function Line({runs,last}){return jsxs12(Fragment10,{children:[runs.
map((run,index)=>run.kind?jsx13("span",{class:run.kind,children:run.text},index):run.text),last?"":`
`]})}import{Fragment as Fragment11,jsx as jsx14,jsxs as jsxs13}from"./libraries-c0a40985b0.js";var ToolCard=class extends Component2{shouldComponentUpdate(next){return next.
version!==this.props.version||next.call!==this.props.call||next.cwd!==this.props.cwd}render(props){return jsx14(Card,{...props})}};function outputs(call,terminals){
let shown=call.content.filter(one=>one.type==="terminal").map(one=>terminals.get(asText(one.terminalId))).filter(one=>one!==void 0).map(one=>({key:one.id,output:one.
output,command:one.command,exit:exitOf(one.exit)}));return(call.output!==""||call.exit!==null)&&shown.push({key:"own",output:call.output,command:commandOf(call.
rawInput),exit:exitOf(call.exit)}),shown}function exitOf(exit){if(exit===null)return null;let code=asNumber(exit.code??exit.exit_code??exit.exitCode),signal6=asText(
exit.signal);return signal6!==""?{text:signal6,ok:!1}:code===null?null:{text:`exit ${code}`,ok:code===0}}function Card({call,cwd,terminals,compact=!1}){let diffs=diffsOf(
call),commands=outputs(call,terminals),others=call.content.filter(one=>one.type!=="terminal"&&!(one.type==="diff"&&typeof one.newText=="string")),isCard=!compact&&
(diffs.length>0||commands.length>0||call.question!==null||call.tool==="execute"||call.status==="failed"),[opened,setOpened]=useState11(null),[raw,setRaw]=useState11(
!1),[sides,setSides]=useState11(!1),bySelf=isCard&&call.status!=="pending"&&(diffs.length>0||commands.some(one=>one.output!=="")||others.length>0&&(call.tool===
"execute"||call.status==="failed")),open2=opened??bySelf,location2=call.locations[0],where=location2===void 0?"":shortPath(asText(location2.path),cwd)+(asNumber(
location2.line)===null?"":`:${String(location2.line)}`),title=plain(call.title)||plain(call.name)||"Tool call",command=commandOf(call.rawInput),beside=command!==
""&&call.tool==="execute"&&commands.length===0?command:where;return jsxs13("details",{class:`tool${isCard?" card":""}`,"data-kind":call.tool,"data-status":call.
question===null?call.status:"waiting","data-call":call.id,open:open2,onToggle:event=>setOpened(event.currentTarget.open),children:[jsxs13("summary",{children:[jsx14(
Icon,{name:kindIcon(call.tool)}),jsx14("span",{class:"tool-name",children:title}),beside!==""&&!title.includes(beside)&&jsx14("span",{class:"tool-loc",children:plain(
beside)}),jsxs13("span",{class:"tool-end",children:[jsx14(End,{call,diffs,commands}),jsx14(Icon,{name:"chevron",size:12,class:"chev"})]})]}),open2&&jsxs13("div",
{class:"tool-body",children:[diffs.map((diff,index)=>jsxs13("div",{children:[diffs.length>1&&jsx14("div",{class:"file-head mono",children:shortPath(asText(diff.
path),cwd)}),jsx14(Diff,{path:asText(diff.path),before:asText(diff.oldText),after:asText(diff.newText),sides})]},index)),commands.map(one=>jsx14(TerminalOutput,
{output:one.output,command:one.command||command},one.key)),others.map((one,index)=>jsx14("div",{class:"tool-content",children:one.type==="content"?jsx14(ToolText,
{content:asObj(one.content)}):jsx14(Raw,{value:one})},index)),call.locations.length>1&&jsx14("ul",{class:"places",children:call.locations.map((one,index)=>jsxs13(
"li",{class:"mono",children:[plain(shortPath(asText(one.path),cwd)),asNumber(one.line)===null?"":`:${String(one.line)}`]},index))}),raw&&call.rawInput!==void 0&&
jsx14(Raw,{name:"rawInput",value:call.rawInput}),raw&&call.rawOutput!==void 0&&jsx14(Raw,{name:"rawOutput",value:call.rawOutput}),(call.decision!==null||diffs.length>
0||call.rawInput!==void 0||call.rawOutput!==void 0)&&jsxs13("div",{class:"tool-foot",children:[call.decision!==null&&jsxs13(Fragment11,{children:[jsx14(Icon,{name:"\
shield",size:14}),jsx14("span",{children:decided(call.decision)})]}),jsx14("span",{class:"grow"}),(call.rawInput!==void 0||call.rawOutput!==void 0)&&jsx14("butt\
on",{type:"button",class:"btn quiet small","aria-expanded":raw,onClick:()=>setRaw(!raw),children:"Raw data"}),diffs.length>0&&jsxs13("span",{class:"tabs",role:"\
group","aria-label":"Layout of the change",children:[jsx14("button",{type:"button","aria-pressed":!sides,onClick:()=>setSides(!1),children:"Unified"}),jsx14("bu\
tton",{type:"button","aria-pressed":sides,onClick:()=>setSides(!0),children:"Split"})]})]})]})]})}function ToolText({content}){if(content.type!=="text")return jsx14(
ContentBlock,{block:{type:asText(content.type),raw:content}});let text=asText(content.text),fenced=/^```[^\n]*\n([\s\S]*?)\n?```\s*$/.exec(text);return jsx14(TerminalOutput,
{output:fenced?.[1]??text,command:""})}function End({call,diffs,commands}){let running=isOpen(call)&&call.question===null,now2=useNow(100,running),exit=commands.
map(one=>one.exit).find(one=>one!==null)??null,added=0,removed=0;for(let diff of diffs){let[plus,minus]=count(diff);added+=plus,removed+=minus}return jsxs13(Fragment11,
{children:[diffs.length>0&&jsx14(PlusMinus,{added,removed}),call.question!==null&&jsx14("span",{class:"wait",children:"waits for you"}),running&&jsxs13(Fragment11,
{children:[jsx14(StateGlyph,{state:"running"}),jsx14("span",{class:"go",children:call.status==="pending"?"pending":"running"})]}),exit!==null&&jsx14("span",{class:exit.
ok?"ok":"bad",children:exit.text}),call.status==="failed"&&(exit===null||exit.ok)&&jsx14("span",{class:"bad",children:call.decision!==null&&call.decision.optionKind.
startsWith("reject")?"rejected":"failed"}),(call.status==="cancelled"||call.status==="unfinished")&&jsx14("span",{children:call.status}),call.status==="complete\
d"&&exit===null&&diffs.length===0&&jsx14(Icon,{name:"check",size:13,class:"ok"}),jsx14("span",{class:"num took",children:duration((call.until||now2)-call.at)})]})}
function PlusMinus({added,removed}){return jsxs13("span",{class:"plusminus",children:[(added>0||removed===0)&&jsxs13("ins",{children:["+",added]}),added>0&&removed>
0&&" ",removed>0&&jsxs13("del",{children:["−",removed]})]})}function decided(decision){return decision.elsewhere?jsxs13(Fragment11,{children:["Answered elsewh\
ere after ",duration(decision.ms)]}):decision.cancelled?"Nobody answered; the turn was stopped":jsxs13(Fragment11,{children:[{allow_once:"Allowed once",allow_always:"\
Always allowed",reject_once:"Rejected",reject_always:"Always rejected"}[decision.optionKind]??`“${plain(decision.name)}”`,decision.by!==null&&jsxs13(Fragment11,
{children:[" by ",jsx14("b",{children:plain(decision.by)})]})," after ",duration(decision.ms)]})}import{Fragment as Fragment12,jsx as jsx15,jsxs as jsxs14}from"./libraries-c0a40985b0.js";function Panel({talk}){return jsxs14("aside",{class:"panel","aria-labe\
l":"Plan, files, usage, people, wire",children:[jsx15(PlanSection,{talk}),jsx15(FilesSection,{talk}),jsx15(UsageSection,{talk}),jsx15(PeopleSection,{talk}),jsx15(
WireSection,{})]})}var doneOf=plan=>`${plan.filter(one=>one.status==="completed").length} of ${plan.length}`;function Plan({plan}){return jsx15("ol",{class:"pla\
n",children:plan.map((one,index)=>jsxs14("li",{"data-status":one.status,children:[jsx15(Icon,{name:one.status==="completed"?"check":one.status==="in_progress"?"\
half":"ring",size:15}),jsxs14("span",{children:[plain(one.content),jsxs14("span",{class:"hide",children:[", ",plain(one.status.replace("_"," "))]})]})]},index))})}
function PlanSection({talk}){talk.version.value;let plan=talk.conversation.plan;return plan.length===0?null:jsxs14("section",{class:"sect",children:[jsxs14("h2",
{children:["Plan",jsx15("span",{class:"num",children:doneOf(plan)})]}),jsx15(Plan,{plan})]})}function PlanStrip({talk}){talk.version.value;let plan=talk.conversation.
plan;if(plan.length===0)return null;let now2=plan.find(one=>one.status==="in_progress")??plan.find(one=>one.status!=="completed")??plan.at(-1);return jsxs14("de\
tails",{class:"plan-strip",children:[jsxs14("summary",{children:[jsx15("span",{class:"dots","aria-hidden":"true",children:plan.slice(0,8).map((one,index)=>jsx15(
"i",{class:one.status==="completed"?"d":one.status==="in_progress"?"g":""},index))}),jsx15("b",{class:"cut grow",children:plain(now2.content)}),jsx15("span",{class:"\
dim num",children:doneOf(plan)}),jsx15(Icon,{name:"down",size:12})]}),jsx15(Plan,{plan})]})}function FilesSection({talk}){talk.version.value;let changes=useMemo4(
()=>changesOf(talk.conversation.items),[talk.version.value,talk]),waiting=waitingEdits(talk.conversation),cwd=entries.value.get(talk.id)?.cwd??"";return jsxs14(
"section",{class:"sect",children:[jsxs14("h2",{children:["Files changed",jsx15("span",{children:changes.length>0?jsx15("button",{type:"button",class:"linkish",onClick:()=>panels.
review.value=!0,children:"Review"}):"0"})]}),changes.length===0&&jsxs14("p",{class:"dim",children:["None yet.",waiting>0&&` ${waiting===1?"One edit waits":`${waiting}\
 edits wait`} for an answer.`]}),changes.map(one=>jsxs14("div",{class:"file",children:[jsx15("span",{class:"cut",children:plain(shortPath(one.path,cwd))}),jsx15(
PlusMinus,{added:one.added,removed:one.removed})]},one.path))]})}var COUNTS=[["inputTokens","Read"],["outputTokens","Written"],["cachedReadTokens","Read from ca\
che"],["thoughtTokens","Thought"]];function UsageSection({talk}){talk.version.value;let usage=talk.conversation.usage,used=asNumber(usage.used),size=asNumber(usage.
size),cost=asObj(usage.cost),spent=asNumber(cost.amount),last=talk.conversation.items.findLast(item=>item.kind==="end"),turn=last?.kind==="end"?last.usage:{},counts2=COUNTS.
map(([name2,word])=>[word,asNumber(turn[name2])]).filter(([,value])=>value!==null&&value>0);if(used===null&&spent===null&&counts2.length===0)return null;let share=used!==
null&&size!==null&&size>0?used/size:null;return jsxs14("section",{class:"sect",children:[jsxs14("h2",{children:["Usage",spent!==null&&jsx15("span",{class:"num",
children:money(spent,asText(cost.currency)||"USD")})]}),share!==null&&jsx15(Meter,{share,label:`${Math.round(share*100)} % of the context used`}),jsxs14("dl",{class:"\
pairs",children:[used!==null&&jsxs14(Fragment12,{children:[jsx15("dt",{children:"Context"}),jsxs14("dd",{children:[amount(used),size!==null&&` of ${amount(size)}`,
share!==null&&` · ${Math.round(share*100)} %`]})]}),counts2.map(([word,value])=>[jsxs14("dt",{children:[word,", last turn"]},word),jsx15("dd",{children:amount(
value??0)},`${word}v`)])]})]})}function PeopleSection({talk}){let people=talk.people.value,me=connection.welcome.value?.user,isOwner=entries.value.get(talk.id)?.
owner===me;return people.length===0?null:jsxs14("section",{class:"sect",children:[jsxs14("h2",{children:["People",jsx15("span",{children:isOwner?jsx15("button",
{type:"button",class:"linkish",onClick:()=>panels.inviting.value=!0,children:"Invite"}):people.length})]}),people.map(one=>jsxs14("div",{class:"who",children:[jsx15(
Avatar,{name:one.name||"?",big:!0}),jsxs14("span",{children:[jsx15("b",{children:plain(one.name)||"You"}),jsxs14("small",{children:[one.role==="observer"?"watch\
es":one.approves?one.owner?"controls":"may prompt and approve":"may prompt",one.name===me&&" · you"]})]})]},one.name))]})}function hasInspector(){let welcome=connection.
welcome.value;return window===top&&welcome!==null&&welcome.inspector}function WireSection({most=6}){useNow(1e3);let lines2=wire.value.slice(-most).reverse(),now2=performance.
now();return jsxs14("section",{class:"sect",children:[jsxs14("h2",{children:["Wire",hasInspector()&&jsx15("span",{children:jsx15("a",{class:"linkish",href:"/ins\
pect",target:"_blank",rel:"opener",children:"Open inspector"})})]}),lines2.map((line2,index)=>jsxs14("div",{class:"mini",children:[jsx15(Icon,{name:line2.out?"r\
ight":"left",size:11,class:line2.out?"to-out":"to-in"}),jsxs14("b",{children:[plain(line2.name),line2.count>1&&` ×${line2.count}`]}),jsx15("span",{children:duration(
now2-line2.at)})]},index))]})}import{signal as signal5,useEffect as useEffect6,useLayoutEffect as useLayoutEffect4,useMemo as useMemo5,useRef as useRef5,useState as useState12}from"./libraries-c0a40985b0.js";var UNCLEAR=/^$|^\s|\s$|\s\s|^"|\(sends /,quoted2=text=>UNCLEAR.test(text)?`"${text.replaceAll('"','\\"')}"`:text,choiceText=(value,words)=>value===words?quoted2(
words):`${quoted2(words)} (sends ${quoted2(value)})`;import{Fragment as Fragment13,jsx as jsx16,jsxs as jsxs15}from"./libraries-c0a40985b0.js";var ARMED_AFTER=400,later=signal5(new Set),keyOf=(talk,question)=>`${talk.
id}/${talk.epoch}/${question.number}`;function Questions({talk}){talk.version.value;let waiting=[...talk.conversation.questions.values()],canAnswer=may("approve")&&
talk.role.value==="controller",question=waiting.find(one=>!later.value.has(keyOf(talk,one)));if(question===void 0||!canAnswer)return null;let props={talk,question,
putAside:()=>{later.value=new Set([...later.value,keyOf(talk,question)])},more:waiting.length-1};return question.method==="session/request_permission"?jsx16(Permission,
{...props},question.number):question.method==="elicitation/create"&&question.params.mode==="url"?jsx16(PageToOpen,{...props},question.number):question.method===
"elicitation/create"?jsx16(Form,{...props},question.number):null}function takeUp(talk){later.value=new Set([...later.value].filter(key=>!key.startsWith(`${talk.
id}/`)))}function useArmed(){let[armed,setArmed]=useState12(!1);return useEffect6(()=>{let timer=setTimeout(()=>setArmed(!0),ARMED_AFTER);return()=>clearTimeout(
timer)},[]),armed}var TITLES={edit:"Edit",delete:"Delete",move:"Move",execute:"Run a command",fetch:"Fetch a page",read:"Read",search:"Search"},MEANINGS={allow_once:"\
allows it, this time only",allow_always:"allows it from now on, without asking",reject_once:"refuses it; the agent goes on without it",reject_always:"refuses it\
 from now on, without asking"};function Permission({talk,question,putAside,more}){let armed=useArmed(),box=useRef5(null),[raw,setRaw]=useState12(!1),asked=asObj(
question.params.toolCall),call=talk.conversation.calls.get(asText(asked.toolCallId)),options=asList(question.params.options).filter(isObj),cwd=entries.value.get(
talk.id)?.cwd??"",rejects=options.find(one=>one.kind==="reject_once")??options.find(one=>one.kind==="reject_always");useLayoutEffect4(()=>{(box.current?.querySelector(
"[data-reject]")??box.current?.querySelector("button"))?.focus({preventScroll:!0})},[]);let choose2=option=>{armed&&answer(talk,question.number,{outcome:{outcome:"\
selected",optionId:option.optionId??""}})},onKey=event=>{let option=/^[1-9]$/.test(event.key)&&!event.ctrlKey&&!event.metaKey&&!event.altKey?options[Number(event.
key)-1]:void 0;if(option!==void 0)event.preventDefault(),choose2(option);else if(event.key==="ArrowDown"||event.key==="ArrowUp"){event.preventDefault();let buttons=[
...box.current?.querySelectorAll(".answer")??[]],at=buttons.indexOf(document.activeElement);buttons[(at+(event.key==="ArrowDown"?1:-1)+buttons.length)%buttons.length]?.
focus()}};return jsx16(Modal,{label:titleOf2(call,cwd),class:"question",onClose:()=>rejects!==void 0?choose2(rejects):putAside(),children:jsxs15("div",{ref:box,
onKeyDown:onKey,"data-question":question.number,children:[jsx16(Head,{icon:kindIcon(call?.tool??"other"),title:titleOf2(call,cwd),question,badge:call?.tool??""}),
jsxs15("div",{class:"dialog-body asked",tabIndex:0,role:"group","aria-label":"What is asked",children:[call!==void 0&&jsx16(What,{call,cwd}),raw&&jsx16(Raw,{name:"\
request",value:question.params})]}),jsx16("div",{class:"answers",children:options.map((option,index)=>{let kind=asText(option.kind),allows=kind.startsWith("allo\
w");return jsxs15("button",{type:"button",class:"answer","data-kind":kind,"data-reject":option===rejects?"":void 0,"aria-disabled":!armed,onClick:()=>choose2(option),
children:[index<9?jsx16("kbd",{children:index+1}):jsx16("span",{}),jsx16(Icon,{name:allows?"check":kind.startsWith("reject")?"cross":"right",class:allows?"yes":
"no"}),jsx16("b",{children:jsx16(Visible,{text:asText(option.name)||kind})}),jsx16("span",{children:MEANINGS[kind]??plain(kind)})]},index)})}),jsxs15(Foot,{talk,
children:[more>0&&jsxs15("span",{class:"dim",children:[more," more ",more===1?"question":"questions"]}),jsx16("button",{type:"button",class:"btn quiet",onClick:putAside,
children:"Later"}),jsx16("button",{type:"button",class:"btn quiet","aria-expanded":raw,onClick:()=>setRaw(!raw),children:"Raw data"}),rejects!==void 0&&jsxs15("\
span",{class:"only-wide esc",children:[jsx16("kbd",{children:"Esc"})," reject"]})]})]})})}function titleOf2(call,cwd){if(call===void 0)return"The agent asks for\
 permission";let path=shortPath(asText(diffsOf(call)[0]?.path)||asText(call.locations[0]?.path),cwd),word=TITLES[call.tool];return call.tool==="execute"&&wholeCommand(
call.rawInput).command!==""?"Run a command?":word!==void 0&&path!==""&&call.tool!=="execute"?`${word} ${plain(path)}?`:plain(call.title)===""?"Do this?":`${plain(
call.title).replace(/\?$/,"")}?`}function What({call,cwd}){let diffs=diffsOf(call),{command,beside}=wholeCommand(call.rawInput),others=call.content.filter(one=>one.
type!=="terminal"&&!(one.type==="diff"&&typeof one.newText=="string")).map(one=>one.type==="content"?asObj(one.content):one),{cwd:given,...fields}=beside,place=asText(
given)||cwd,input=command!==""&&typeof given=="string"?fields:beside,paths=[...new Set([...diffs.map(diff=>asText(diff.path)),...call.locations.map(one=>asText(
one.path))])].filter(path=>path!==""),rest=diffs.length>0?untold(input,diffs,paths,cwd):input,everything=[call.title,command,...diffs.flatMap(diff=>[asText(diff.
path),asText(diff.oldText),asText(diff.newText)]),...call.locations.map(one=>asText(one.path)),...others.map(one=>one.type==="text"?asText(one.text):wordsOf(one)),
...Object.values(rest).map(wordsOf)].join(`
`),hidden=useMemo5(()=>countHidden(everything),[everything]),outside=cwd!==""&&paths.some(path=>path.startsWith("/")&&path!==cwd&&!path.startsWith(cwd.endsWith(
"/")?cwd:`${cwd}/`));return jsxs15(Fragment13,{children:[jsxs15("div",{class:"what",children:[diffs.map((diff,index)=>jsx16(Diff,{path:asText(diff.path),before:asText(
diff.oldText),after:asText(diff.newText),sides:!1,whole:!0},index)),command!==""&&jsx16("pre",{children:jsx16(Visible,{text:command})}),command===""&&diffs.length===
0&&jsx16("p",{class:"what-title",children:jsx16(Visible,{text:call.title})}),others.map((one,index)=>one.type==="text"?jsx16("pre",{class:"what-text",children:jsx16(
Visible,{text:asText(one.text)})},index):one.type==="image"||one.type==="audio"?jsx16(ContentBlock,{block:{type:one.type,raw:one}},index):jsx16(Raw,{value:one},
index)),jsxs15("dl",{class:"facts",children:[Object.entries(rest).map(([name2,value])=>jsx16(Fact,{name:plain(name2),children:jsx16(Visible,{text:wordsOf(value)})},
name2)),paths.map((path,index)=>jsx16(Fact,{name:index===0?"File":"",children:jsx16(Visible,{text:path})},`at ${path}`)),command!==""&&place!==""&&jsx16(Fact,{name:"\
In",children:jsx16(Visible,{text:place})}),diffs.map((diff,index)=>{let[added,removed]=count(diff);return jsxs15(Fact,{name:"Change",words:!0,children:[jsx16(PlusMinus,
{added,removed}),outside?", outside the working directory":", inside the working directory"]},index)})]})]}),hidden>0&&jsxs15("p",{class:"note warn",children:[jsx16(
Icon,{name:"alert",size:14}),jsxs15("span",{children:[jsx16("b",{children:hidden===1?"One character, or gap, is invisible.":`${hidden} characters, or gaps, are \
invisible.`})," A character is shown by its number, such as U+200B; a gap by its length."]})]})]})}var wordsOf=value=>typeof value=="string"?value:JSON.stringify(
value??null),Fact=({name:name2,words=!1,children})=>jsxs15(Fragment13,{children:[jsx16("dt",{children:name2}),jsx16("dd",{class:words?void 0:"mono",children})]});
function Head({icon,title,question,badge,plainTile=!1}){let now2=useNow(1e3),agent=connection.welcome.value?.agent??"the agent",waited=now2-question.at;return jsxs15(
"header",{class:"dialog-head",children:[jsx16("span",{class:`tile${plainTile?" plain":""}`,children:jsx16(Icon,{name:icon,size:20})}),jsxs15("div",{children:[jsx16(
"h2",{children:title}),jsxs15("p",{children:[plain(agent)," asks",waited>3e3?` · ${duration(waited).replace(/\.\d/,"")} ago`:""]})]}),badge!==""&&jsx16("span",
{class:"badge",children:plain(badge)})]})}function Foot({talk,children}){let me=connection.welcome.value?.user,others=talk.people.value.filter(one=>one.approves&&
one.name!==me);return jsxs15("footer",{class:"dialog-foot",children:[others.length>0&&jsxs15(Fragment13,{children:[jsx16(Avatar,{name:others[0].name}),jsxs15("s\
pan",{children:[plain(others.map(one=>one.name).join(", "))," may answer too. The first answer counts."]})]}),jsx16("span",{class:"grow"}),children]})}function Form({
talk,question,putAside}){let armed=useArmed(),schema=asObj(question.params.requestedSchema),fields=Object.entries(asObj(schema.properties)).map(([name2,field])=>({
name:name2,field:asObj(field)})),required=asList(schema.required).map(String),[values,setValues]=useState12(()=>Object.fromEntries(fields.map(({name:name2,field})=>[
name2,initial(field)]))),latest=useRef5(values),touched=useRef5(!1),set=(name2,value)=>{touched.current=!0,latest.current={...latest.current,[name2]:value},setValues(
latest.current)},[shown,setShown]=useState12(!1),form=useRef5(null);useLayoutEffect4(()=>form.current?.querySelector("input, select, textarea")?.focus(),[]);let faultOf=({
name:name2,field},all)=>fault(field,all[name2]??"",required.includes(name2)),reply=result=>{(armed||touched.current)&&answer(talk,question.number,result)},submit=event=>{
event.preventDefault(),setShown(!0);let wrong=fields.find(one=>faultOf(one,latest.current)!=="");wrong!==void 0?form.current?.querySelector(`[name="${CSS.escape(
wrong.name)}"]`)?.focus():reply({action:"accept",content:contentOf(fields,latest.current)})};return jsx16(Modal,{label:plain(asText(question.params.message))||"\
The agent asks",class:"question",onClose:putAside,children:jsxs15("form",{ref:form,onSubmit:submit,noValidate:!0,"data-question":question.number,children:[jsx16(
Head,{icon:"plan",plainTile:!0,title:plain(asText(question.params.message))||"The agent asks",question,badge:""}),jsx16("div",{class:"dialog-body",children:jsxs15(
"div",{class:"form",children:[asText(schema.description)!==""&&jsx16("p",{class:"dim",children:jsx16(Visible,{text:asText(schema.description)})}),fields.map(({name:name2,
field})=>jsx16(Field,{name:name2,field,value:values[name2]??"",optional:!required.includes(name2),fault:shown?faultOf({name:name2,field},values):"",set:value=>set(
name2,value)},name2))]})}),jsxs15("footer",{class:"dialog-foot",children:[jsx16("span",{class:"grow",children:"Answers go to the agent, and into the conversatio\
n."}),jsx16("button",{type:"button",class:"btn quiet",onClick:()=>reply({action:"decline"}),children:"Decline"}),jsx16("button",{type:"submit",class:"btn primar\
y",children:"Send"})]})]})})}function initial(field){return field.type==="boolean"?field.default===!0:field.type==="array"?asList(field.default).map(String):field.
default===void 0||field.default===null?"":String(field.default)}function optionsOf(field){let items=field.type==="array"?asObj(field.items):field,titled=asList(
items.oneOf??items.anyOf).filter(isObj);return titled.length>0?titled.map(one=>({value:asText(one.const),title:typeof one.title=="string"?one.title:asText(one.const)})):
asList(items.enum).map(one=>({value:String(one),title:String(one)}))}function fault(field,value,required){if(Array.isArray(value))return typeof field.minItems==
"number"&&value.length<field.minItems?`Choose at least ${field.minItems}`:typeof field.maxItems=="number"&&value.length>field.maxItems?`Choose at most ${field.maxItems}`:
required&&value.length===0?"Choose at least one":"";if(typeof value=="boolean")return"";if(value==="")return required?"This is needed":"";if(field.type==="integ\
er"||field.type==="number"){let number=Number(value);return!Number.isFinite(number)||field.type==="integer"&&!Number.isInteger(number)?field.type==="integer"?"A\
 whole number":"A number":typeof field.minimum=="number"&&number<field.minimum?`At least ${field.minimum}`:typeof field.maximum=="number"&&number>field.maximum?
`At most ${field.maximum}`:""}if(typeof field.minLength=="number"&&value.length<field.minLength)return`At least ${field.minLength} characters`;if(typeof field.maxLength==
"number"&&value.length>field.maxLength)return`At most ${field.maxLength} characters`;if(typeof field.pattern=="string")try{if(!new RegExp(field.pattern,"u").test(
value))return asText(field.description)||`It must match ${field.pattern}`}catch{return""}return field.format==="email"&&!/^\S+@\S+$/.test(value)?"An e-mail addr\
ess":field.format==="uri"&&!URL.canParse(value)?"A whole address, such as https://example.org":""}function contentOf(fields,values){let content={};for(let{name:name2,
field}of fields){let value=values[name2]??"";value===""||Array.isArray(value)&&value.length===0||(content[name2]=field.type==="integer"||field.type==="number"?Number(
value):value)}return content}function Field({name:name2,field,value,optional,fault:wrong,set}){let id=`f-${name2}`,title=jsxs15(Fragment13,{children:[jsx16(Visible,
{text:asText(field.title)||name2}),optional&&field.type!=="boolean"&&jsx16("span",{class:"dim",children:" optional"})]}),options=optionsOf(field),hint=wrong!==""?
jsx16("p",{class:"hint bad",id:`${id}-hint`,children:wrong}):asText(field.description)!==""?jsx16("p",{class:"hint",id:`${id}-hint`,children:jsx16(Visible,{text:asText(
field.description)})}):null;if(field.type==="boolean")return jsxs15("div",{children:[jsxs15("label",{class:"pick",children:[jsx16("input",{type:"checkbox",name:name2,
checked:value===!0,onChange:event=>set(event.currentTarget.checked)}),jsx16("span",{children:title})]}),hint]});if(options.length>0&&(field.type==="array"||options.
length<=6)){let many=field.type==="array",chosen=Array.isArray(value)?value:[String(value)];return jsxs15("fieldset",{children:[jsx16("legend",{children:title}),
options.map(option=>jsxs15("label",{class:"pick",children:[jsx16("input",{type:many?"checkbox":"radio",name:name2,checked:chosen.includes(option.value),onChange:event=>set(
many?event.currentTarget.checked?[...chosen,option.value]:chosen.filter(one=>one!==option.value):option.value)}),jsx16("span",{children:jsx16(Visible,{text:choiceText(
option.value,option.title)})})]},option.value)),hint]})}return jsxs15("div",{children:[jsx16("label",{for:id,children:title}),options.length>0?jsxs15("select",{
id,name:name2,class:"field",value:String(value),onChange:event=>set(event.currentTarget.value),children:[jsx16("option",{value:""}),options.map(option=>jsx16("o\
ption",{value:option.value,children:revealed(choiceText(option.value,option.title))},option.value))]}):jsx16("input",{id,name:name2,class:`field${wrong!==""?" b\
ad":""}`,value:String(value),inputMode:field.type==="integer"?"numeric":field.type==="number"?"decimal":"text",type:"text",placeholder:field.format==="date"?"20\
30-12-31":void 0,autoComplete:"off","aria-invalid":wrong!=="","aria-describedby":hint===null?void 0:`${id}-hint`,onInput:event=>set(event.currentTarget.value)}),
hint]})}function PageToOpen({talk,question,putAside}){let armed=useArmed(),url=asText(question.params.url),link=linkOf(url,""),reply=action=>{armed&&answer(talk,
question.number,{action})},at=link===null?-1:url.indexOf(link.host);return jsx16(Modal,{label:"The agent wants you to open a page",class:"question",onClose:putAside,
children:jsxs15("div",{"data-question":question.number,children:[jsx16(Head,{icon:"out",plainTile:!0,title:plain(asText(question.params.message))||"Open a page?",
question,badge:""}),jsxs15("div",{class:"dialog-body",children:[jsx16("p",{children:"Nothing is opened until you do."}),jsx16("span",{class:"url",children:link===
null||at<0?jsx16(Visible,{text:url}):jsxs15(Fragment13,{children:[jsx16(Visible,{text:url.slice(0,at)}),jsx16("b",{children:link.host}),jsx16(Visible,{text:url.
slice(at+link.host.length)})]})}),link===null&&jsxs15("p",{class:"note warn",children:[jsx16(Icon,{name:"alert",size:14}),jsx16("span",{children:"This is not an\
 address that a browser may open from here."})]})]}),jsxs15("footer",{class:"dialog-foot",children:[jsx16("span",{class:"grow"}),jsx16("button",{type:"button",class:"\
btn quiet",onClick:()=>reply("decline"),children:"Decline"}),jsxs15("button",{type:"button",class:"btn",onClick:()=>{navigator.clipboard.writeText(url)},children:[
jsx16(Icon,{name:"copy",size:14}),"Copy"]}),link!==null&&jsxs15("a",{class:"btn primary",href:link.href,target:"_blank",rel:"noopener noreferrer",onClick:()=>reply(
"accept"),children:[jsx16(Icon,{name:"out",size:14}),"Open ",link.host]})]})]})})}import{useState as useState14}from"./libraries-c0a40985b0.js";import{Component as Component3,useEffect as useEffect7,useLayoutEffect as useLayoutEffect5,useRef as useRef6,useState as useState13}from"./libraries-c0a40985b0.js";import{jsx as jsx17,jsxs as jsxs16}from"./libraries-c0a40985b0.js";var TURNS_SHOWN=50,FOLDED=["read","search"];function grouped(items){let shown=[];for(let[at,item]of items.
entries()){if(item.kind==="gone"&&items[at+1]?.kind==="error")continue;let isFolded=item.kind==="tool"&&FOLDED.includes(item.tool)&&item.question===null&&item.status===
"completed",last=shown.at(-1);isFolded&&last?.kind==="group"?(last.calls.push(item),last.version+=item.version+1):isFolded&&last?.kind==="tool"&&FOLDED.includes(
last.tool)&&last.status==="completed"&&last.question===null?shown[shown.length-1]={kind:"group",key:`g${last.key}`,calls:[last,item],version:last.version+item.version,
at:last.at}:shown.push(item)}return shown}function Thread({talk,onReview}){talk.version.value;let conversation=talk.conversation,log=useRef6(null),[turns,setTurns]=useState13(
TURNS_SHOWN),[below,setBelow]=useState13(!1),stuck=useRef6(!0),seen=useRef6(0),moved=useRef6(0),cwd=entries.value.get(talk.id)?.cwd??connection.welcome.value?.cwd??
"",atEnd=()=>{let box=log.current;return box.scrollHeight-box.scrollTop-box.clientHeight<48},noteMove=event=>{moved.current=event.timeStamp},toEnd=()=>{let box=log.
current;box.scrollTop=box.scrollHeight,stuck.current=!0,setBelow(!1)};useLayoutEffect5(()=>{stuck.current=!0,toEnd()},[talk]),useLayoutEffect5(()=>{if(stuck.current){
let box=log.current;box.scrollTop=box.scrollHeight,seen.current=conversation.items.length}else!below&&conversation.items.length>seen.current&&setBelow(!0)}),useEffect7(
()=>{let watch2=new ResizeObserver(()=>{stuck.current&&log.current!==null&&(log.current.scrollTop=log.current.scrollHeight)});return watch2.observe(log.current.
firstElementChild),()=>watch2.disconnect()},[talk]);let starts=conversation.items.flatMap((item,index)=>item.kind==="prompt"?[index]:[]),first=starts.length>turns?
starts[starts.length-turns]:0,shown=grouped(conversation.items.slice(first)),date="";return jsxs16("div",{class:"log-box",children:[jsx17("div",{class:"log",role:"\
log","aria-label":"Conversation","aria-busy":conversation.turn!==null,tabIndex:0,ref:log,onWheel:noteMove,onTouchMove:noteMove,onKeyDown:noteMove,onPointerDown:noteMove,
onScroll:event=>{atEnd()?(stuck.current=!0,setBelow(!1)):event.timeStamp-moved.current<1e3&&(stuck.current=!1)},children:jsxs16("div",{class:"thread",children:[
first>0&&jsx17("button",{type:"button",class:"btn earlier",onClick:()=>setTurns(turns+TURNS_SHOWN),children:`Earlier: ${starts.length-turns} more turns`}),talk.
loading.value&&conversation.items.length===0&&jsxs16("p",{class:"dim loading",children:[jsx17(StateGlyph,{state:"running"})," Loading the session"]}),talk.failure.
value!==""&&jsxs16("article",{class:"note-card err",children:[jsxs16("header",{children:[jsx17(Icon,{name:"alert"}),jsx17("span",{children:"This session cannot \
be opened"})]}),jsx17("p",{children:plain(talk.failure.value)}),jsx17("footer",{children:jsx17("button",{type:"button",class:"btn",onClick:()=>{open(talk.id)},children:"\
Try again"})})]}),shown.map(item=>{let today=day(item.at);return[item.kind==="prompt"&&today!==date?jsx17("div",{class:"day",children:date=today},`d${item.key}`):
null,jsx17(Entry,{item,version:item.version,conversation,cwd,onReview},item.key)]}),conversation.turn!==null&&jsx17(Working,{conversation})]})}),below&&jsxs16("\
button",{type:"button",class:"btn pill-new",onClick:toEnd,children:[jsx17(Icon,{name:"down",size:12}),"New below"]})]})}function Working({conversation}){let now2=useNow(
1e3),last=conversation.items.at(-1),speaks=last!==void 0&&last.kind==="text"&&now2-last.until<1500,since=conversation.turn?.since??now2;return conversation.questions.
size>0?jsxs16("p",{class:"working",children:[jsx17(StateGlyph,{state:"waiting"}),jsx17("span",{children:"Waits for an answer"})]}):jsxs16("p",{class:"working",children:[
jsx17(StateGlyph,{state:"running"}),jsx17("span",{children:speaks?"Writing":"Working"}),jsxs16("span",{class:"num",children:[Math.max(0,Math.round((now2-since)/
1e3))," s"]})]})}var Entry=class extends Component3{shouldComponentUpdate(next){return next.version!==this.props.version||next.item.kind!==this.props.item.kind||
next.item.kind==="group"&&next.item!==this.props.item||next.cwd!==this.props.cwd||next.conversation!==this.props.conversation}render({item,conversation,cwd,onReview}){
switch(item.kind){case"prompt":return jsx17(PromptEntry,{item});case"text":return jsx17("div",{class:"prose says",children:jsx17(Markdown,{text:item.text,done:item.
done})});case"thought":return jsx17(Thought,{item});case"media":return jsx17(ContentBlock,{block:item.block});case"tool":return jsx17(ToolCard,{call:item,version:item.
version,cwd,terminals:conversation.terminals});case"group":return jsx17(GroupEntry,{group:item,conversation,cwd});case"end":return jsx17(EndEntry,{item,conversation,
onReview});case"error":return jsx17(ErrorEntry,{item,items:conversation.items});case"gone":return jsx17(GoneEntry,{item});case"unknown":return jsxs16("article",
{class:"note-card unknown",children:[jsxs16("header",{children:[jsx17(Icon,{name:"code"}),jsx17("span",{class:"mono",children:plain(item.name)}),jsx17("span",{class:"\
grow"}),jsx17("span",{class:"badge line",children:"not known to v1"})]}),jsx17(Raw,{value:item.raw})]});case"notice":return jsxs16("p",{class:`note${item.severity===
"info"?"":" warn"}`,children:[jsx17(Icon,{name:"alert",size:14}),jsxs16("span",{children:[jsx17("b",{children:plain(item.title)})," ",plain(item.text)]})]});case"\
note":return jsx17("p",{class:"dim note-line",children:plain(item.text)})}}};function PromptEntry({item}){let name2=plain(item.by)||"You",text=item.blocks.filter(
block3=>block3.type==="text"),others=item.blocks.filter(block3=>block3.type!=="text");return jsxs16("article",{class:"ask-msg",children:[jsxs16("div",{class:"by",
children:[jsx17(Avatar,{name:name2}),jsx17("b",{children:name2}),jsx17("time",{dateTime:new Date(item.at).toISOString(),children:clock(item.at)})]}),text.map((block3,index)=>jsx17(
"div",{class:"prose said",children:jsx17(Mentions,{text:asText(block3.raw.text)})},index)),others.length>0&&jsx17("div",{class:"attach",children:others.map((block3,index)=>jsx17(
ContentBlock,{block:block3},index))})]})}function Mentions({text}){let pieces2=text.split(/((?:^|(?<=\s))@[^\s,;:!?)]+)/);return jsx17("p",{children:pieces2.map(
(piece,index)=>piece.startsWith("@")&&piece.length>1?jsx17("span",{class:"mention",children:plain(piece)},index):jsx17(Visible,{text:piece},index))})}function Thought({
item}){let[open2,setOpen]=useState13(!1),now2=useNow(500,!item.done),ms=(item.done?item.until:now2)-item.at,took=ms<95?"":` for ${duration(ms)}`;return jsxs16("\
details",{class:"fold thought",open:open2,onToggle:event=>setOpen(event.currentTarget.open),children:[jsxs16("summary",{children:[jsx17(Icon,{name:"chevron",size:12,
class:"chev"}),jsxs16("span",{children:[item.done?"Thought":"Thinking",took]})]}),open2&&jsx17("div",{class:"thought-text prose",children:jsx17(Markdown,{text:item.
text,done:item.done})})]})}function GroupEntry({group,conversation,cwd}){let[open2,setOpen]=useState13(!1),reads=group.calls.filter(call=>call.tool==="read"),searches=group.
calls.length-reads.length,names=[...new Set(reads.map(call=>shortPath(asText(call.locations[0]?.path),cwd).split("/").at(-1)??""))].filter(name2=>name2!==""),files=names.
length||reads.length,words=[reads.length>0?`Read ${files} ${files===1?"file":"files"}`:"",searches>0?`${reads.length>0?"searched":"Searched"} ${searches===1?"on\
ce":`${searches} times`}`:""].filter(one=>one!==""),took=Math.max(...group.calls.map(call=>call.until))-group.at;return jsxs16("details",{class:"fold",open:open2,
onToggle:event=>setOpen(event.currentTarget.open),children:[jsxs16("summary",{children:[jsx17(Icon,{name:"chevron",size:12,class:"chev"}),jsxs16("span",{class:"\
cut",children:[words.join(", ")," ",jsx17("span",{class:"mono",children:plain(names.join(", "))})]}),jsx17("span",{class:"tool-end num",children:duration(took)})]}),
open2&&jsx17("div",{class:"group-list",children:group.calls.map(call=>jsx17(ToolCard,{call,version:call.version,cwd,terminals:conversation.terminals,compact:!0},
call.key))})]})}var causeOf=reason=>plain(reason).replace(/^the agent is gone: /,"").replace(/(^|\s)\/\S*\/(?=\S)/g,"$1").replace(/SIGKILL$/,"SIGKILL (was memor\
y short?)");function GoneEntry({item,children}){let capabilities=connection.welcome.value?.agentCapabilities??{},opensAgain=capabilities.loadSession===!0||asObj(
capabilities.sessionCapabilities).resume!==void 0;return jsxs16("article",{class:"note-card err",children:[jsxs16("header",{children:[jsx17(Icon,{name:"alert"}),
jsxs16("span",{children:["The agent stopped: ",causeOf(item.reason)]})]}),jsx17("p",{children:opensAgain?"The conversation is kept. The next prompt starts the a\
gent again, in the same session.":"This agent cannot open a session again. What was said can be read here; go on in a new session."}),item.stderr!==""&&jsxs16("\
details",{class:"fold inset",children:[jsxs16("summary",{children:[jsx17(Icon,{name:"chevron",size:12,class:"chev"}),"Its last lines"]}),jsx17("pre",{class:"raw",
tabIndex:0,children:item.stderr})]}),opensAgain&&children]})}function ErrorEntry({item,items}){let at=items.indexOf(item),asked=items.slice(0,at).findLast(one=>one.
kind==="prompt"),again=asked?.kind==="prompt"&&may("prompt")&&jsx17("footer",{children:jsxs16("button",{type:"button",class:"btn small",onClick:()=>{prompt(asked.
blocks.map(one=>one.raw))},children:[jsx17(Icon,{name:"retry",size:14}),"Send it again"]})}),before=items[at-1];return before?.kind==="gone"?jsx17(GoneEntry,{item:before,
children:again}):jsxs16("article",{class:"note-card err",children:[jsxs16("header",{children:[jsx17(Icon,{name:"cross"}),jsx17("span",{children:"The prompt fail\
ed"}),jsx17("span",{class:"grow"}),jsx17("span",{class:"badge err",children:item.code})]}),jsxs16("p",{children:[plain(item.message),typeof item.data=="string"&&
`: ${plain(item.data)}`]}),item.data!==null&&typeof item.data!="string"&&jsx17(Raw,{value:item.data}),again]})}var STOPS={cancelled:"stopped",max_tokens:"the an\
swer was too long",max_turn_requests:"too many steps",refusal:"refused"};function EndEntry({item,conversation,onReview}){let index=conversation.items.indexOf(item),
start=index;for(;start>0&&conversation.items[start].kind!=="prompt";)start--;let turn=conversation.items.slice(start,index),changes=changesOf(turn),tokens=asNumber(
item.usage.totalTokens);return jsxs16("footer",{class:"turn-end",children:[item.stop!=="end_turn"&&jsx17("span",{class:"badge warn",children:STOPS[item.stop]??plain(
item.stop)}),jsx17("span",{class:"num",children:duration(item.ms)}),item.calls>0&&jsxs16("span",{class:"num",children:[item.calls," tool ",item.calls===1?"call":
"calls"]}),tokens!==null&&jsxs16("span",{class:"num",children:[amount(tokens)," tokens"]}),jsx17("span",{class:"grow"}),changes.length>0&&jsxs16("button",{type:"\
button",class:"btn small",onClick:onReview,children:[changes.length," ",changes.length===1?"file":"files"," ",jsx17(PlusMinus,{added:changes.reduce((sum,one)=>sum+
one.added,0),removed:changes.reduce((sum,one)=>sum+one.removed,0)})]}),jsx17(CopyButton,{text:()=>textOf(turn),label:"Copy the answer"})]})}import{Fragment as Fragment14,jsx as jsx18,jsxs as jsxs17}from"./libraries-c0a40985b0.js";function Login({why}){let[token,setToken]=useState14("");return jsx18(
"main",{class:"login",children:jsxs17("form",{class:"login-box",onSubmit:event=>{event.preventDefault(),token.trim()!==""&&connection.logIn(token)},children:[jsxs17(
"span",{class:"brand",children:[jsx18(Icon,{name:"logo",size:22}),"acpella"]}),jsx18("h1",{children:"Log in"}),why!==""&&jsxs17("p",{class:"note warn",role:"ale\
rt",children:[jsx18(Icon,{name:"alert",size:14}),jsx18("span",{children:plain(why)})]}),jsx18("label",{for:"token",children:"Your token for this server"}),jsx18(
"input",{id:"token",class:"field mono",type:"password",autoComplete:"current-password",value:token,onInput:event=>setToken(event.currentTarget.value)}),jsx18("b\
utton",{type:"submit",class:"btn primary",children:"Log in"}),jsxs17("p",{class:"hint",children:["On your own machine, ",jsx18("code",{children:"acpella web"}),
" opens this page with a link that works once. On a team's server, whoever runs it makes tokens with ",jsx18("code",{children:"acpella tokens add"}),". The toke\
n stays in this tab."]})]})})}var TRIES=["read README.md","search for TODO","run ls -la","plan: look, think, act"];function Start({talk}){let welcome=connection.
welcome.value,link=connection.link.value;if(welcome===null)return jsx18("div",{class:"log",children:jsx18("div",{class:"hello",children:link.state==="lost"?jsx18(
NotYet,{why:link.why,stderr:link.stderr}):jsxs17("p",{class:"dim loading",children:[jsx18(StateGlyph,{state:"running"}),"Starting the agent"]})})});let info=welcome.
agentInfo,folder=welcome.cwd.split("/").at(-1)||welcome.cwd||"this directory",isBuiltIn=asText(info.name)==="coder"||welcome.agent==="coder",capabilities=welcome.
agentCapabilities,images=asObj(capabilities.promptCapabilities).image===!0,offers=[images&&"Pictures",asObj(capabilities.promptCapabilities).audio===!0&&"Sound",
capabilities.loadSession===!0&&"Sessions open again",asObj(capabilities.sessionCapabilities).fork!==void 0&&"Forks"].filter(one=>one!==!1),name2=plain(asText(info.
title)||welcome.agent);return jsx18("div",{class:"log",children:jsxs17("div",{class:"hello",children:[jsx18("h1",{children:talk===null?`Start a session in ${plain(
folder)}`:"What should be done?"}),jsxs17("p",{children:[plain(welcome.agent)," works in ",jsx18("span",{class:"mono",children:plain(homely(welcome.cwd))}),"."]}),
jsxs17("div",{class:"hello-cols",children:[jsxs17("div",{children:[jsx18("h2",{children:welcome.others.length>0?"Agents":"Agent"}),jsxs17("ul",{class:"agents",children:[
jsxs17("li",{class:"agent","aria-current":"true",children:[jsx18("span",{class:"tile accent",children:jsx18(Icon,{name:isBuiltIn?"logo":"execute",size:20})}),jsxs17(
"span",{children:[jsx18("b",{children:name2}),asText(info.version)!==""&&jsxs17("span",{class:"dim",children:[" ",plain(asText(info.version))]}),jsx18("small",{
children:isBuiltIn?"Built in. Reads, searches, edits and runs.":offers.join(" · ")||"Ready to talk."})]}),jsx18("span",{class:"badge add",children:"ready"})]}),
welcome.others.map(one=>jsx18(Other,{name:one.name,state:one.state},one.name))]}),isBuiltIn&&may("prompt")&&jsxs17(Fragment14,{children:[jsx18("h2",{class:"gap-\
t",children:"Try it now, without a key"}),jsx18("div",{class:"try",children:TRIES.map(one=>jsx18("button",{type:"button",class:"btn",onClick:()=>{prompt([{type:"\
text",text:one}])},children:one},one))})]}),jsx18(Recent,{}),!may("prompt")&&jsxs17("p",{class:"note gap-t",children:[jsx18(Icon,{name:"eye",size:14}),jsx18("sp\
an",{children:"Your token lets you watch. Choose a session in the list."})]})]}),isBuiltIn?jsx18(Models,{keys:welcome.keys}):jsx18(Hints,{images})]})]})})}function NotYet({
why,stderr}){return jsxs17("article",{class:"note-card err",children:[jsxs17("header",{children:[jsx18(Icon,{name:"alert"}),jsx18("span",{children:"The agent do\
es not start"})]}),jsx18("p",{children:causeOf(why)}),stderr!==""&&jsx18("pre",{class:"raw",tabIndex:0,children:stderr.trimEnd()}),jsx18("p",{class:"after",children:"\
Mend what it says, then try again. The page itself tries now and then, too."}),jsx18("footer",{children:jsxs17("button",{type:"button",class:"btn",onClick:()=>connection.
retry(),children:[jsx18(Icon,{name:"retry",size:14}),"Try again"]})})]})}var STATES={settings:"of your settings",installed:"installed",missing:"not installed"};
function Other({name:name2,state}){let command=`acpella web -a ${plain(name2)}`;return jsxs17("li",{class:"agent",children:[jsx18("span",{class:"tile plain",children:jsx18(
Icon,{name:"execute",size:18})}),jsxs17("span",{children:[jsx18("b",{children:plain(name2)}),jsx18("small",{children:jsx18("code",{children:command})})]}),jsxs17(
"span",{class:"do-copy",children:[jsx18("span",{class:state==="missing"?"badge":"badge add",children:STATES[state]}),jsx18(CopyButton,{text:()=>command,label:`C\
opy ${command}`})]})]})}function Hints({images}){let hints=[["/","commands of the agent"],["@","a file of the directory"],["↵","send; ⇧ ↵ begins a new line"],
["Esc Esc","stop the agent"],[`${MOD} K`,"everything else"]];return jsxs17("div",{class:"models-box",children:[jsx18("h2",{children:"Good to know"}),jsx18("dl",
{class:"hints",children:hints.map(([key,words])=>jsxs17("div",{children:[jsx18("dt",{children:key.split(" ").map((one,index)=>jsx18("kbd",{children:one},index))}),
jsx18("dd",{children:words})]},key))}),jsxs17("p",{class:"dim",children:[images&&"Paste or drop a picture to send it along. ","A prompt that you write while the\
 agent works waits its turn. Other people can watch a session, or work along: ",jsx18("b",{children:"Invite"})," beside it."]})]})}function Recent(){let recent=sorted(
entries.value.values()).slice(0,4);return recent.length===0?null:jsxs17(Fragment14,{children:[jsx18("h2",{class:"gap-t",children:"Go on with"}),jsx18("div",{class:"\
agents recent",children:recent.map(entry=>jsxs17("button",{type:"button",class:"session",onClick:()=>{open(entry.sessionId)},children:[jsx18(StateGlyph,{state:entry.
state}),jsx18("b",{children:titleOf(entry)}),jsx18("time",{children:timeOf(entry)===0?"":ago(timeOf(entry),now())})]},entry.sessionId))})]})}var KEYS2=[["Anthro\
pic","ANTHROPIC_API_KEY"],["OpenAI","OPENAI_API_KEY"],["Google","GEMINI_API_KEY"],["OpenRouter","OPENROUTER_API_KEY"]],COMMANDS=[["then start again",`export ANT\
HROPIC_API_KEY=…
acpella web`],["or a model on this machine","ACPELLA_MODEL=ollama:qwen3 acpella web"]];function Models({keys}){return jsxs17("div",{class:"models-box",children:[
jsx18("h2",{children:"Connect a real model"}),jsx18("p",{class:"dim",children:"The agent takes its key from the environment when acpella starts. Keys are never \
asked for here, and never stored."}),jsx18("table",{class:"models",children:jsx18("tbody",{children:KEYS2.map(([name2,variable])=>jsxs17("tr",{children:[jsx18("\
td",{children:name2}),jsx18("td",{children:jsx18("code",{children:variable})}),jsx18("td",{children:keys.includes(variable)?jsx18("span",{class:"ok",children:"s\
et"}):"not set"})]},name2))})}),COMMANDS.map(([words,command])=>jsxs17("div",{class:"code",children:[jsxs17("div",{class:"code-head",children:[jsx18("span",{children:words}),
jsx18("span",{class:"grow"}),jsx18(CopyButton,{text:()=>command})]}),jsx18("pre",{tabIndex:0,children:command})]},words))]})}import{Fragment as Fragment15,jsx as jsx19,jsxs as jsxs18}from"./libraries-c0a40985b0.js";function Page(){useKeys(),useNotices();let link=connection.link.value;
if(link.state==="login")return jsx19(Login,{why:link.why});let talk=currentTalk.value;talk?.version.value;let isEmpty=talk===null||talk.conversation.items.length===
0&&!talk.loading.value&&talk.failure.value==="",view=panels.view.value;return jsxs18(Fragment15,{children:[jsxs18("div",{class:`app${isEmpty?" first":""}${panels.
right.value&&!isEmpty?"":" no-panel"}`,"data-view":view,children:[jsx19("div",{class:`side-box${panels.side.value?" open":""}`,onClick:event=>event.target===event.
currentTarget&&(panels.side.value=!1),children:jsx19(Sessions,{})}),jsxs18("main",{class:"main",children:[jsx19(Head2,{talk,isEmpty}),jsx19(LostBanner,{}),jsx19(
ProblemBanner,{}),jsx19(Client,{}),view==="chat"||isEmpty?jsxs18(Fragment15,{children:[talk!==null&&!isEmpty&&jsx19(PlanStrip,{talk}),talk!==null&&!isEmpty?jsx19(
Thread,{talk,onReview:()=>panels.review.value=!0},talk.id):jsx19(Start,{talk}),talk!==null&&jsx19(PutAside,{talk}),jsx19(Composer,{talk})]}):jsxs18("div",{class:"\
log narrow-view",children:[view==="plan"&&talk!==null&&jsxs18(Fragment15,{children:[jsx19(PlanSection,{talk}),jsx19(UsageSection,{talk}),jsx19(PeopleSection,{talk}),
talk.conversation.plan.length===0&&jsx19("p",{class:"dim nothing",children:"The agent has no plan."})]}),view==="wire"&&jsx19(WireSection,{most:60})]})]}),talk!==
null&&!isEmpty&&panels.right.value&&jsx19(Panel,{talk}),jsx19(BottomTabs,{})]}),talk!==null&&jsx19(Questions,{talk}),jsx19(Dialogs,{}),jsx19(Palette,{})]})}function Head2({
talk,isEmpty}){let entry=entries.value.get(current.value??""),welcome=connection.welcome.value,me=welcome?.user,cwd=homely(entry?.cwd??welcome?.cwd??""),people=talk?.
people.value??[];return jsxs18("header",{class:`bar${isEmpty?" only-narrow":""}`,children:[jsx19(IconButton,{icon:"menu",class:"only-narrow",label:"Sessions",onClick:()=>panels.
side.value=!0}),jsxs18("div",{class:"titles grow",children:[jsx19("h1",{class:"cut",children:talk===null||isEmpty?"acpella":titleOf(entry)}),jsxs18("div",{class:"\
where cut only-narrow",children:[plain(welcome?.agent??"")," · ",cwd]})]}),jsx19("span",{class:"where only-wide",children:plain(welcome?.agent??"")}),jsx19("sp\
an",{class:"where only-wide mono cut",children:cwd}),entry?.branch&&jsxs18("span",{class:"badge line only-wide branch",title:"The branch of the directory",children:[
jsx19(Icon,{name:"branch",size:12}),jsx19("span",{class:"cut",children:plain(entry.branch)})]}),people.length>1&&jsx19("button",{type:"button",class:"people","a\
ria-label":people.map(one=>`${one.name} ${one.role==="observer"?"watches":"controls"}`).join(", "),onClick:()=>!panels.right.value&&togglePanel(),children:[...people].
sort((a,b)=>+(b.name===me)-+(a.name===me)).slice(0,4).map(one=>jsx19(Avatar,{name:one.name},one.name))}),!isEmpty&&jsx19(IconButton,{icon:"panel",class:"only-wi\
de",label:"Side panel",pressed:panels.right.value,onClick:togglePanel}),!isEmpty&&jsxs18("span",{class:"menu-box",children:[jsx19(IconButton,{icon:"dots",label:"\
More",expanded:panels.menu.value,onClick:()=>panels.menu.value=!panels.menu.value}),panels.menu.value&&jsx19(Menu,{})]})]})}function Menu(){let close=()=>{panels.
menu.value=!1},all=sessionActions();return jsx19(Modal,{label:"More",class:"menu",onClose:close,children:jsx19("div",{class:"menu-list",children:all.map(one=>jsxs18(
"button",{type:"button",class:"opt",onClick:()=>{close(),one.run()},children:[jsx19(Icon,{name:one.icon}),jsx19("b",{children:one.title})]},one.title))})})}function LostBanner(){
let link=connection.link.value,now2=useNow(500,link.state==="lost");if(link.state!=="lost"||connection.welcome.value===null)return null;let seconds=Math.max(0,Math.
ceil((link.again-now2)/1e3));return jsxs18("div",{class:"banner",role:"status",children:[jsx19(Icon,{name:"plug",size:14}),jsx19("b",{children:"Connection lost."}),
jsxs18("span",{class:"grow",children:[link.why!==""?plain(link.why):"The agent goes on without you."," ",seconds>0?`Trying again in ${seconds} s.`:"Trying again\
."]}),jsx19("button",{type:"button",class:"btn small",onClick:()=>connection.retry(),children:"Try now"})]})}function ProblemBanner(){return problem.value===""?
null:jsxs18("div",{class:"banner err",role:"alert",children:[jsx19(Icon,{name:"alert",size:14}),jsx19("span",{class:"grow",children:plain(problem.value)}),jsx19(
IconButton,{icon:"cross",size:14,label:"Close",onClick:()=>problem.value=""})]})}function PutAside({talk}){talk.version.value;let count2=talk.conversation.questions.
size;return count2===0||![...later.value].some(key=>key.startsWith(`${talk.id}/`))?null:jsxs18("div",{class:"banner in-dock",children:[jsx19(Icon,{name:"alert",
size:14}),jsxs18("span",{class:"grow",children:[count2===1?"A question waits":`${count2} questions wait`," for an answer."]}),jsx19("button",{type:"button",class:"\
btn small",onClick:()=>takeUp(talk),children:"Answer"})]})}function BottomTabs(){let waiting=[...entries.value.values()].filter(one=>one.state==="waiting").length,
tab=(id,icon,words)=>jsxs18("button",{type:"button","aria-current":panels.view.value===id,onClick:()=>panels.view.value=id,children:[jsx19(Icon,{name:icon,size:18}),
words,id==="chat"&&waiting>0&&jsxs18("span",{class:"count",children:[waiting,jsx19("span",{class:"hide",children:" waiting"})]})]});return jsxs18("nav",{class:"\
bottom-tabs","aria-label":"Views",children:[tab("chat","chat","Chat"),tab("plan","plan","Plan"),tab("wire","wire","Wire")]})}function useKeys(){useEffect8(()=>{
let before="",onKey=event=>{if((event.ctrlKey||event.metaKey)&&event.key.toLowerCase()==="k"){event.preventDefault(),openPalette();return}if(event.target.closest(
"input, textarea, select, [contenteditable], dialog")!==null||event.ctrlKey||event.metaKey||event.altKey)return;let combination=before==="g"?`g${event.key}`:event.
key;before=event.key;let action={"?":()=>panels.keys.value=!0,"/":()=>focusComposer(),i:focusComposer,gc:()=>show(null),gn:nextWaiting,gp:togglePanel}[combination];
action!==void 0&&(event.preventDefault(),action())};return addEventListener("keydown",onKey),()=>removeEventListener("keydown",onKey)},[])}import{render}from"./libraries-c0a40985b0.js";import{jsx as jsx20}from"./libraries-c0a40985b0.js";render(jsx20(Page,{}),document.getElementById("app"));connection.start();var later2="requestIdleCallback"in window?
requestIdleCallback:setTimeout;later2(()=>warmUp());
