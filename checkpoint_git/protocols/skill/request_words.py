"""The words of requests, in the languages that hand-offs are written in. Data for requests.py.

English first; then French, Spanish, Portuguese, German, Dutch, Italian, Polish, Russian; Chinese and Japanese are
brought to English words.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.replace("_", " ") for text in text.split())


# A phrase is written with "_" for its blanks. By the kind of its verb:
_VERBS = {
    # land it
    "land": """merge squash squash-merge squash_merge rebase-merge merge_back land ship auto-merge automerge
        enable_auto-merge arm_auto-merge set_auto-merge promote merger mergez fusionner fusionnez faire_le_merge mergear
        mergea fusionar fusiona integrar hacer_merge hacer_el_merge mesclar mescle fazer_merge fazer_o_merge mergen
        einmergen zusammenführen samenvoegen mergiare mergia fare_merge_di fare_il_merge_di zmergować zmerguj scalić
        смержить смерджить замержить влить integrate""",
    "review": """review re-review rereview double-check approve sign_off_on sign_off relire revoir relis revisar revisa
        rever aprobar aprovar approuver faire_relire reviewen prüfen beoordelen nakijken freigeben revisionare rivedere
        approvare przejrzeć zatwierdzić проверить отревьюить""",
    "verify": """verify confirm check ensure make_sure see confirmar confirma verificar comprobar vérifier valider
        bestätigen controleren""",
    "watch": """monitor watch babysit shepherd chase keep_an_eye_on keep_watching surveiller vigilar monitorear
        monitorar beobachten volgen""",
    "work": """finish finish_up finalize finalise complete implement start start_with begin resume continue
        continue_with kick_off pick_up wrap_up work_on do deliver tackle close_out continue_work_on dokończyć completare
        terminer finir terminar acabar completar concluir abschließen beenden afronden""",
    "publish": "push open create raise submit ouvrir abrir openen eröffnen",
    "address": """address resolve respond_to reply_to answer handle incorporate apply act_on fix go_through process
        repair reconcile bearbeiten""",
    "renew": "rebase retarget update refresh rerun re-run retry unblock undraft un-draft polish",
    "ask": "ask remind ping nudge tell request get have prompt poke invite re-request",
    "obtain": "obtain seek secure ask_for need needs pursue collect",
    "wait": """wait wait_for wait_on waiting waiting_for waiting_on await awaiting pending held_for hold_for on_hold_for
        attendre en_attente_de esperar esperar_a aguardar wachten_op warten_auf attendere aspettare in_attesa_di
        poczekać_na czekać_na дождаться ждать""",
    "mark": "mark",
    "bring": "drive take bring move convert turn flip give send put hand",
    "follow": "follow_up_on follow_up_with following_up_on follow check_on check_back_on look_at revisit come_back_to",
    "link": "link linked",
    "decide": "decide_on decide_about decide_whether_to vote_on",
}
# Work that a merge does not do. What is in no list and stands where a verb would stand counts as work as well.
OTHER_VERBS = _words("""add adjust align analyze analyse announce append archive assign attach audit automate backfill
    backport benchmark bind build bump call capture celebrate change cherry-pick cherrypick choose clean clear clone
    close collect comment compare compile compress compute configure connect consider consolidate coordinate copy cover
    cut debug decide declare decommission define delete demo deploy deprecate derive describe design diagnose disable
    discuss distribute document download draft draw drop dump edit email enable establish evaluate examine execute
    expand explain explore export extend extract eyeball file fill filter find force format formulate forward freeze
    generate grep harden hook identify import improve include increase index inform init initiate inspect install
    instrument introduce investigate invoke iterate join keep launch lift link lint list load lock log look lower
    maintain make manage map measure mention message migrate mirror mock modify name negotiate normalize normalise note
    notify observe optimize optimise order organize organise pack park parse pass patch persist pick pin plan port post
    prepare present print proceed profile promote propose protect prove provide provision prune publish pull query queue
    re-enable re-test re-verify read realign rebuild recheck reclaim recommend record recover redeploy redesign reduce
    refactor reformat register regenerate reinstall release reload remove rename reopen reorder reorganize repeat
    replace report reproduce research reset resize restart restore restructure retest retire retrieve return
    reuse revert revive revoke rewrite roll rotate route run sample save scaffold scan schedule scope search select
    separate serve set share sharpen show simplify skip sort split stabilize stabilise stage standardize state stop
    store strip study sum summarize summarise support surface swap sweep switch sync synchronize tag talk teach tear
    test tidy transfer transition translate triage trigger trim try tune tweak type unarchive uninstall unpin upgrade
    upload use validate visit warm wire write reboot déployer validar publicar desplegar implantar configurar lancer
    publier deployen ausrollen uitrollen ausführen setzen schließen anwenden sprawdzić uruchomić wdrożyć zamknąć
    aggiornare verificare pubblicare запустить выкатить deployować criar crear""")
VERBS = {phrase: kind for kind, text in _VERBS.items() for phrase in _words(text)}
LONGEST_PHRASE = max(phrase.count(" ") for phrase in VERBS) + 1
WORK_NEEDS_NO_NOUN = _words("finish finish_up complete resume continue continue_with wrap_up finalize finalise work_on")

# What leads up to a verb and says nothing of the work.
SOFTENERS = _words("""let please todo next now first finally just also still either optionally maybe remember
    remember_to try_to we you i should must can could will need_to needs_to have_to to and or then only lastly meanwhile
    fully formally la le lo""")
ROLES = _words("user owner maintainer human operator team reviewer lead users owners maintainers reviewers")
NOTS = _words("""not never avoid without no stop don't doesn't do_not does_not must_not ne_pas no_se não nicht niet kein
    keine keinen non nie ne не prohibited forbidden non-goal non-goals 不要 ❌ 🚫 ⛔ ✗ ✘""")

# Words between a verb and its reference, or behind it, that add no work.
NOUNS = _words("""pr prs mr mrs ci pull pulls request requests merge merges issue issues ticket tickets task tasks
    branch branches stack diff review reviews comment comments feedback check checks blocker blockers nit nits finding
    findings suggestion suggestions conflict conflicts failure failures thread threads approval approvals signoff
    sign-off pipeline pipelines build builds gate gates run runs status head implementation work changes workflow""")
LIGHT = NOUNS | _words(""", : one two three four several a an the our my your this that its their his her both all any
    each fresh new current current-head exact-head latest last final next ready open approved green pending draft
    stacked remaining outstanding required up out of for on in to by with at dependabot renovate le la les l un une de
    du des d el los las del en o os as do da no na der die das den dem het een van op am im verde vert grün groen back
    final von auf explicit human manual formal independent founder external maintainer il gli di del dei alla""")
BEHIND = NOUNS | _words("""tomorrow this later second third last primeiro depois codespan a rebase ready green
    merged landed approved reviewed shipped done in open first now today tonight asap soon next please again early
    finished completed through out over across rather instead into to onto for with on from by via as at only during
    within w/o so is are while without using under against per github gitlab or une uma vers hacia nach naar wanneer
    zodra wenn sobald quando cuando si mergen auf sur dans avec sans para con por de com sem sul nel senza su do na
    w z bez przy em в на с без как для""")
REVIEWED = _words("""comment comments feedback review reviews thread threads nit nits blocker blockers finding findings
    suggestion suggestions conflict conflicts ci lint lints test tests job jobs check checks build builds pipeline
    pipelines failure failures error errors""")
GREEN = _words("""ci check checks green pipeline pipelines build builds gate gates pass passes passing merge merges
    merged mergeable approval approved review reviews reviewed status test tests verde vert run runs required conflict
    conflicts mergeability readiness auto-merge""")
APPROVAL = _words(
    "approval sign-off signoff review authorization authorisation go-ahead decision verdict landing merge completion"
)
LANDED = _words("merged reviewed approved landed shipped green ready")
STATES = LANDED | _words(
    "pass passes open mergeable waiting pending updated awaiting awaits merge review squash mergen mergear reviewen"
)
COPULAS = _words("is are was were be been has have had still now remains to should must ci fully already got stays")

# A clause that begins with one of these is a condition.
GATES = _words("""after once when whenever if unless until till as_soon_as before while since because so_that assuming
    provided only_after only_when only_if only_once only_with upon following which preserving exposing warming
    by_the_time une_fois quand après si cuando una_vez después_de ap\u00f3s wanneer zodra nadat wenn sobald nachdem nach
    erst_nach se quando dopo_che dopo appena gdy jeśli dopiero po когда если после""")
TROUBLE = _words("""fail fails failed failing failure failures raised requested objection objections rejected red break
    breaks broken conflict conflicts flaky wrong comments stall stalls needed necessary""")
# Where the work goes on behind the merge.
BEYOND = _words("""prod production staging deploy deploys deployed deploying deployment release releases released
    releasing customer customers users rollout roll-out post-merge regression regressions produção producción
    produktion""")
BEYOND_PHRASES = _words(
    "go_live goes_live is_live roll_out through_qa to_qa in_qa with_qa passes_qa after_merge after_the_merge"
)
THEN = _words(
    "then afterwards subsequently puis ensuite dann danach anschließend luego después depois daarna poi quindi potem "
    "następnie затем потом"
)
ANDS = _words("and or & + plus und et y e en ed oraz и as_well_as")
STATING = _words("""is are was were has have had runs run pass passes passed show shows add adds include includes
    contain contains says say touches gates repairs closes will does means moves est sont ist sind wird bleibt es son
    está están é são foi foram pode podem""")
BUILDS = _words("""add build create fix finish implement introduce land make migrate move port refactor remove rename
    replace ship split support switch upgrade use wire write resume start begin continue complete""")
RELATIONS = _words("""after since until once when before from following based depend depends blocked follow-up
    follow-ups followup fallout regression regressions revert reverts reverted doc docs documentation notes test tests
    because due see per like unlike ref refs introduced caused then""")
# Chinese and Japanese have no blanks between words; Korean endings are left as they are.
# ruff: noqa: RUF001 (full-width punctuation is what these languages use)
CJK = {
    "先に": "",
    "，让": " so ", "，由": " so ", "到": " to ", "待ち": "", "머지": " merge ", "병합": " merge ", "리뷰": " review ",
    "然后": "; ", "之后再": "; ", "最后": "", "后": " post-merge ", "後": " post-merge ", " 후 ": " post-merge ",
    "合并": " merge ", "合併": " merge ", "マージ": " merge ", "审查": " review ",
    "审核": " review ", "评审": " review ", "审阅": " review ", "レビュー": " review ", "等待": " wait for ",
    "部署": " deploy ", "发布": " release ", "デプロイ": " deploy ", "并": " and ", "する": "", "を": " ", "の": " ",
    "的": " ", "（": "(", "）": ")", "，": ", ", "；": "; ", "：": ": ", "。": ". ",
}  # fmt: skip
JOINS = _words("and or and/or und et y e pr prs mr mrs issue") | frozenset(",/&+、和")  # within a list of references
# Behind a dash or a colon these begin what follows the merge; other verbs begin a title.
AFTERWARDS = _words("""deploy redeploy tag release publish announce notify tell restart reboot proceed begin start
    continue resume promote cut bump run close""")
DUTIES = _words("to must should can will needs")
INTRODUCTIONS = _words("""hold held waiting awaiting pending action next todo step user owner decision decide review
    merge ready blocked resume remaining blocker""")
AFTER_THE_MERGE = _words("after once when the it is merge merged merges landed lands")
UNLESS = _words("if unless until")
UNMERGED = _words("merged unmerged open landed approved green")
FORGES = _words("github gitlab")
OPENING = _words("open merge push raise")
# What a comma may part off, and no more work.
MANNER = _words("not no but which that who keep all both each will should") | BEHIND | LIGHT
KNOWN = MANNER | GREEN | REVIEWED | APPROVAL | COPULAS
OF_NOUNS = tuple(_words("ness tion tions sion sions ment ments ity ing ed ly ance ence ics age ure ms"))
# How a sentence begins that only states something; what one says that asks for more.
STATED = _words("no nothing none already currently both all this that these they it its everything together")
NEEDED = _words("need needs needed must todo remaining missing left")
ACTS = frozenset(f"{verb}s" for verb in VERBS)  # what somebody does
DECLINING = _words("close reject decline abandon drop request rebase")
ARTICLES = _words("the a an its our their all")
NOT_OF_A_TITLE = RELATIONS | _words("""into onto to replacement successor cleanup rollback rest remainder leftovers by
    except but vs versus i phase part step stage half""")
EFFECTS = _words("closes auto-closes auto-close unblocks unlocks resolves restores fixes")
LABELS = _words("diff tests note see risk scope ref refs vitest pytest")  # at the head of an explaining sentence
PREPOSITIONS = _words("for on of to before in from about")
CAUSES = _words("introduced caused broken since after")
PASSING = _words("passes pass is can has fully required all")
LANDING = _words("merge review approve land and formally squash merging reviewing approving landing")
REVIEWERS = _words("reviewers reviewer maintainers maintainer user owner")
HURDLES = _words("""ci check checks green gate gates review merge approval approvals mergeable pipeline pipelines lane
    completion head diff""")
SETTLED = _words("clean merges green resolved addressed closed done")  # at the end of a sentence that states something
TO_LEARN = _words(
    "understand learn how why what ideas details context reference background examples inspiration lessons"
)
STEPS = _words("phase part step stage half")
PARTS = REVIEWED | APPROVAL | _words("validation commit commits branch diff changes")
TRUNKS = _words("codespan main master develop dev trunk")
SETTLING = ANDS | GREEN | LIGHT | BEHIND | COPULAS | PASSING | TRUNKS
# What is done to a pull request before it is merged: "retarget #12 ..., merge it".
PREPARING = _words("verify check confirm recheck test re-test retest validate inspect audit examine")
PUBLISHED = _words("""the a my our this final it branch pr mr changes draft pull request remote feature codespan to
    ticket issue on from commit push""")
OF_A_MERGE = _words("""it this that them as a the reviewed current only bound head up ready for review squash-merge
    merge completion comments feedback exact authorized normally pr mr when once either or close to into codespan main
    master develop in and""")
# Work that is over with its reference: what is said behind it comes afterwards.
ENDINGS = _words("""finish finish_up finalize finalise complete deliver wrap_up close_out terminer finir terminar acabar
    completar concluir abschließen beenden afronden""")
# Words near a reference on which a verb depends.
WHOLE = _words("fix address repair resolve handle")
LATER = _words("follow-up next deferred later separate")
ASKED_FOR = LANDING - {"and"} | LANDED | APPROVAL | _words("reviewing merging line ci passing human-merged")
BROUGHT_TO = LANDED | APPROVAL | _words("draft line look pass ci closure completion")
OF_TITLES = _words("land review work publish watch")  # kinds of verbs
OF_AIMS = _words("wait watch")
AIMS = SETTLING | HURDLES | _words("pass return land merge review finish complete be get end rerun reach")
DEEDS = AFTERWARDS | OTHER_VERBS | frozenset(VERBS)
POINTERS = _words("it them those these what any")
KEPT = _words("draft open unmerged separate closed unchanged intact private invalid")
