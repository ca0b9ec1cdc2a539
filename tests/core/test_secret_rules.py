"""Each shape of a secret: one text that has it, and one that only looks like it."""

from checkpoint_git.core.redact import HIDDEN, hide_tokens, holds_secret
from checkpoint_git.core.secret_rules import RULES
from checkpoint_git.core.untrusted_text import may_hold_secret

L = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"  # 32 letters and digits
H = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"  # 32 hexadecimal digits

# name -> (how a token begins, how it goes on, what is none). Put together at run time, so that no
# scanner takes this file for a leak.
EXAMPLES: dict[str, tuple[str, str, str]] = {
    "GitHub token": ("gh", f"p_{L}aB12", "ghp_short"),
    "GitHub fine-grained token": ("github", f"_pat_{L}", "github_pat_ is how they begin"),
    "GitLab token": ("gl", f"pat-{L[:20]}", "glpat-short"),
    "Docker Hub token": ("dckr", f"_pat_{L[:27]}", "dckr_pat_short"),
    "Vault token": ("hv", f"s.{L}", "hvs.short"),
    "Terraform token": (L[:14], f".atlasv1.{L}{L}", "the atlas.atlasv1.example"),
    "Slack token": ("xo", f"xb-123456789012-{L[:16]}", "xoxb-1"),
    "Slack app token": ("xa", f"pp-1-{L[:16]}", "xapp-1"),
    "Slack webhook": (
        "hooks.sl",
        f"ack.com/services/T01234567/B01234567/{L[:24]}",
        "hooks.slack.com/services",
    ),
    "Discord webhook": (
        "disc",
        f"ord.com/api/webhooks/123456789012345678/{L}{L}",
        "discord.com/api/webhooks/123",
    ),
    "Discord bot token": ("MT", f"A{L[:23]}.{L[:6]}.{L}", "MTA is a station. MTBF.is.a-figure"),
    "Stripe key": ("sk", f"_live_{L[:24]}", "sk_live_x"),
    "OpenAI or Anthropic key": ("sk", f"-{L}", "sk-learn, task-management-of-a-large-team"),
    "Stripe webhook secret": ("wh", f"sec_{L}", "whsec_short"),
    "AWS access key": ("AK", "IAABCDEFGH12345678", "AKIA is short"),
    "Azure shared access signature": (
        "https://a.blob.core.windows.net/c?sv=2024-11-04&sig",
        f"={L}{L[:11]}%3D",
        "sig=the-signature-of-it",
    ),
    "Google API key": ("AI", f"za{L}abc", "AIza is how they begin"),
    "Google access token": ("ya", f"29.{L}", "ya29.short"),
    "Google client secret": ("GOC", f"SPX-{L}", "GOCSPX-short"),
    "Groq key": ("gs", f"k_{L}", "gsk_short"),
    "xAI key": ("xa", f"i-{L}{L}", "xai-grok"),
    "Perplexity key": ("pp", f"lx-{L}", "pplx-short"),
    "Grafana token": ("gl", f"sa_{L}_0a1b2c3d", "glsa_short"),
    "Shopify token": ("sh", f"pat_{H}", "shpat_short"),
    "Databricks token": ("da", f"pi{H}", "dapi of a board"),
    "npm token": ("np", f"m_{L}abcd", "npm_config_registry"),
    "PyPI token": ("py", f"pi-{L}{L}", "pypi-publish"),
    "Hugging Face token": ("hf", f"_{L}", "hf_hub"),
    "DigitalOcean token": ("do", f"p_v1_{H}{H}", "dop_v1_short"),
    "Linear key": ("lin", f"_api_{L}", "lin_api_key"),
    "Notion token": ("nt", f"n_{L}", "ntn_short"),
    "Notion token, older": ("sec", f"ret_{L}", "secret_name is set"),
    "Atlassian token": ("AT", f"ATT{L}", "ATATT"),
    "Telegram bot token": ("123456789", f":AA{L}a", "the ratio is 12345678:AAA"),
    "Twilio key": ("S", f"K{H}", "SKU-12, SKIPPED"),
    "SendGrid key": ("S", f"G.{L[:22]}.{L}", "SG.short"),
    "Mailgun key": ("ke", f"y-{H}", "key-value pairs"),
    "age key": ("AGE", f"-SECRET-KEY-1{L.upper()}", "AGE-SECRET-KEY"),
    "JSON web token": ("ey", f"JhbGciOiJIUzI1NiJ9.{'eyJ'}zdWIiOiIxIn0.{L}", "eyJ is a start"),
    "New Relic key": ("NR", f"AK-{L[:27].upper()}", "NRAK-short"),
    "New Relic license key": (H, "abcdFFFFNRAL", "the NRAL suffix"),
    "Sentry token": ("sn" + "trys", f"_{L}{L}", "sntrys_short"),
    "PlanetScale token": ("ps", f"cale_tkn_{L}{L[:11]}", "pscale_tkn_short"),
    "Postman key": ("PM", f"AK-{H[:24]}-{H}ab", "PMAK-short"),
    "Figma token": ("fi", f"gd_{L}{L[:8]}", "figd_short"),
    "Airtable token": ("pa", f"t{L[:14]}.{H}{H}", "path/to.a-file, patterns.json"),
    "Supabase token": ("sb", f"p_{H}01234567", "sbp_short"),
    "Supabase secret key": ("sb", f"_secret_{L}", "sb_secret_short"),
    "GitLab token of a feed, application or runner": ("gl", f"ft-{L[:20]}", "glft-short"),
    "Bitbucket token": ("AT", f"BB{L}", "ATBB-7"),
    "Trello token": ("AT", f"TA{L}{L}", "ATTACH it"),
    "LangSmith key": ("ls", f"v2_pt_{H}_{H[:10]}", "lsv2_short"),
    "Pinecone key": ("pc", f"sk_{L}{L}", "pcsk_short"),
    "Replicate token": ("r8", f"_{L}abcde", "sdr8_of_a_board"),
    "Tavily key": ("tv", f"ly-{L}", "tvly-short"),
    "NVIDIA key": ("nv", f"api-{L}{L}", "nvapi-short"),
    "Netlify token": ("nf", f"p_{L}abcd", "nfp_short"),
    "Vercel Blob token": ("vercel", f"_blob_rw_{L[:16]}_{L}", "vercel_blob_rw_x"),
    "Render key": ("rn", f"d_{L}", "rnd_generator"),
    "Fly.io token": ("fo", f"1_{L}{L[:11]}", "fo1_short"),
    "Heroku key": ("HR", f"KU-AA{L}{L}", "HRKU-short"),
    "Doppler token": ("dp", f".st.prd.{L}{L[:8]}", "dp.st.html"),
    "Pulumi token": ("pu", f"l-{H}{H[:8]}", "pul-request"),
    "Infracost key": ("ic", f"o-{L}", "ico-file"),
    "Buildkite token": ("bk", f"ua_{H}{H[:8]}", "bkua_short"),
    "CircleCI token": ("CC", f"IPAT_{L[:22]}_{H}{H[:8]}", "CCIPAT_short"),
    "SonarQube token": ("sq", f"p_{H}{H[:8]}", "sqp_short"),
    "RubyGems key": ("ruby", f"gems_{H}{H[:16]}", "rubygems_version"),
    "Clojars token": ("CLO", f"JARS_{H}{H[:28]}", "CLOJARS_USERNAME"),
    "Packagist token": ("pack", f"agist_ort_{H}{H}", "packagist_url"),
    "Artifactory key": ("AK", f"Cp8{L}{L}", "AKCp8"),
    "Alibaba access key": ("LT", f"AI5t{L[:18]}", "LTAI5t"),
    "Yandex key": ("AQ", f"VN{L}abc", "AQVN is short"),
    "DigitalOcean OAuth token": ("do", f"o_v1_{H}{H}", "doo_v1_short"),
    "Cloudflare origin key": ("v1", f".0-{H[:24]}-{H}{H}{H}{H}", "v1.0-rc1"),
    "1Password token": ("op", f"s_eyJ{L}{L}{L}{L}", "ops_eyJ"),
    "1Password secret key": ("A3", "-ABCDE2-ABCDEFGHIJ2-ABCD2-ABCD2-ABCD2", "A3-size"),
    "EasyPost key": ("EZ", f"AK{L}{L[:22]}", "EZAK"),
    "Shippo token": ("ship", f"po_live_{H}{H[:8]}", "shippo_client"),
    "Square token": ("sq", f"0atp-{L[:22]}", "sq0atp-short"),
    "Plaid token": (
        "acc",
        "ess-production-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
        "access-production-logs",
    ),
    "Flutterwave key": ("FLW", f"SECK_TEST-{H[:12]}", "FLWSECK"),
    "Brevo key": ("xk", f"eysib-{H}{H}-{L[:16]}", "xkeysib-short"),
    "MailerSend token": ("ml", f"sn.{H}{H}", "mlsn.short"),
    "Resend key": ("re", f"_{L[:8]}_{L[:24]}", "re_compile_and_search"),
    "Facebook token": ("EA", f"A{L}{L}{L}{L}", "EAAC"),
    "Dropbox token": ("sl", f".{L}{L}{L}{L}{L}", "sl.so"),
    "Typeform token": ("tf", f"p_{L}{L[:12]}", "tfp_short"),
    "Contentful token": ("CF", f"PAT-{L}{L[:11]}", "CFPAT-short"),
    "ReadMe token": ("rd", f"me_{H}{H}{H[:6]}", "rdme_short"),
    "Prefect token": ("pn", f"u_{L}abcd", "pnu_short"),
    "PostHog key": ("ph", f"x_{L}{L[:11]}", "phx_gen"),
    "Sourcegraph or Segment token": ("sg", f"p_{L}{L}", "sgp_short"),
    "Mapbox token": ("sk", f".eyJ{L}{L}.{L[:22]}", "sk.eyJ"),
    "Grafana Cloud token": ("gl", f"c_eyJ{L}{L}", "glc_short"),
    "Harness key": ("pa", f"t.{L[:22]}.{H[:24]}.{L[:20]}", "pat.example.org"),
    "Tailscale key": ("ts", f"key-auth-{L[:12]}-{L}", "tskey-short"),
    "MongoDB Atlas secret": ("mdb", f"_sa_sk_{L}{L[:8]}", "mdb_sa_sk_short"),
    "Duffel token": ("duf", f"fel_live_{L}{L[:11]}", "duffel_test_run"),
    "Frame.io token": ("fi", f"o-u-{L}{L}", "fio-u-short"),
    "Dynatrace token": ("dt", f"0c01.{L.upper()[:24]}.{L.upper()}{L.upper()}", "dt0c01.short"),
    "Microsoft Entra client secret": ("abc", f"8Q~{L}", "1Q~2Q"),
    "AWS Bedrock key": ("AB", f"SK{L}{L}{L}{L}", "ABSK"),
    "OpenShift token": ("sha", f"256~{L}{L[:11]}", "sha256~short"),
    "Octopus Deploy key": ("AP", f"I-{L.upper()[:26]}", "API-VERSION"),
    "MaxMind key": ("aB3dE5", f"_{L[:29]}_mmk", "the _mmk suffix"),
}


def test_every_rule_has_its_examples_and_a_source() -> None:
    assert list(EXAMPLES) == [rule.name for rule in RULES]
    assert [
        rule.name for rule in RULES if not rule.source.startswith(("gitleaks: ", "https://"))
    ] == []


def test_every_rule_finds_its_token_and_no_more() -> None:
    wrong = []
    for rule in RULES:
        begin, rest, harmless = EXAMPLES[rule.name]
        secret = begin + rest
        is_found = [match[0] for match in rule.find_all(f"use {secret} then")] != []
        is_false = bool(list(rule.find_all(harmless))) or holds_secret(harmless)
        if not is_found or is_false:
            wrong.append(rule.name)
    assert wrong == []


def test_every_token_is_suspected_found_and_hidden() -> None:
    wrong = []
    for name, (begin, rest, _) in EXAMPLES.items():
        text = f"use {begin}{rest}, then go on"
        shown = hide_tokens(text)
        if (
            not (may_hold_secret(text.encode()) and holds_secret(text))
            or rest in shown
            or HIDDEN not in shown
        ):
            wrong.append(name)
    assert wrong == []


def test_a_token_in_the_query_of_an_address_is_hidden() -> None:
    shown = hide_tokens("cannot fetch https://git.example.org/a.git?private_token=abcd1234&x=1")

    assert shown == f"cannot fetch https://git.example.org/a.git?private_token={HIDDEN}&x=1"
