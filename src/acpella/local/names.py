"""Names of files that matter by themselves: those that hold secrets, those that other programs act on."""

import os
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from acpella import _directories as directories

__all__ = [
    "ACTING_NAMES",
    "SECRET_NAME",
    "SECRET_PATHS",
    "SECRET_PLACE",
    "acting_name",
    "is_beneath",
    "names_of",
    "own_directories",
]

SECRET_PATHS = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".config/stripe",
    ".config/vercel",
    ".local/share/com.vercel.cli",
    ".config/configstore",
    ".wrangler/config",
    ".fly/config.yml",
    ".oci/config",
    ".databrickscfg",
    ".snowflake",
    ".pulumi/credentials.json",
    ".kaggle/kaggle.json",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".huggingface/token",
    ".config/gh",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".password-store",
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".config/git/credentials",
    "*.git/config",
    "*.git/modules/**/config",
    "*.git/config.worktree",
    ".hg/hgrc",
    ".htpasswd",
    ".vault-token",
    ".my.cnf",
    ".mylogin.cnf",
    ".s3cfg",
    ".boto",
    ".dockercfg",
    ".terraform.d",
    ".terraformrc",
    ".cargo/credentials*",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".sbt/.credentials",
    ".nuget/nuget/nuget.config",
    ".gem/credentials",
    ".m2/settings.xml",
    ".config/rclone",
    ".local/share/keyrings",
    ".config/sops/age/keys.txt",
    ".config/age/keys.txt",
    ".vault_pass",
    ".vault_pass.txt",
    ".ansible_vault_pass",
    ".codex/auth.json",
    ".openai/auth.json",
    ".config/anthropic",
    ".factory/auth.json",
    ".local/share/amp/secrets.json",
    ".config/goose/secrets.yaml",
    ".claude/.credentials.json",
    ".claude.json",
    ".gemini/oauth_creds.json",
    ".qwen/oauth_creds.json",
    ".kimi/credentials",
    "opencode/auth.json",
    ".copilot/config.json",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    ".config/google-chrome",
    ".config/chromium",
    ".config/bravesoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".config/signal",
    ".mozilla",
    ".thunderbird",
    ".yarnrc.yml",
    ".bundle/config",
    ".gradle/gradle.properties",
    ".streamlit/secrets.toml",
    "*.tfvars",
    "pip.conf",
    "wallet.dat",
    ".config/solana/id.json",
    ".electrum/wallets",
    "credentials.json",
    "service-account*.json",
    "terraform.tfstate",
    "terraform.tfstate.*",
    ".*_history",
    ".zhistory",
    "fish_history",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.ppk",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.kdbx",
    "*.jks",
    "*.keystore",
    "/dev",
    "/proc",
    "/sys",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssh/ssh_host_*_key",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/run/secrets",
    "/run/credentials",
    "/var/run/secrets",
)
"""What a jail refuses with `secrets=True`: names below a root, in any case and at any depth, where `*` stands
for any characters of a name and `**` for any directories; with a leading slash, that place and all beneath it
unless a root lies in it."""


ACTING_NAMES = frozenset(
    (
        # version control, and what starts with it
        ".git .gitmodules .gitconfig .config/git .hg .hgrc .config/hg .jj .config/jj .husky "
        ".pre-commit-config.yaml lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook.yml "
        ".lefthook.yaml .lefthook.toml .lefthook.json lefthook-local.yml lefthook-local.yaml "
        "lefthook-local.toml lefthook-local.json "
        # machines that build what is pushed
        ".github/workflows .github/actions .gitlab-ci.yml .forgejo/workflows .gitea/workflows .woodpecker "
        ".woodpecker.yml .drone.yml .travis.yml .buildkite .circleci azure-pipelines.yml "
        "bitbucket-pipelines.yml jenkinsfile "
        # toolchains, and what enters a directory
        ".cargo .yarn .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs .mise .mise.toml .mise.local.toml mise.toml "
        "mise.local.toml .config/mise .config/mise.toml .envrc .direnv .devcontainer "
        # editors and debuggers
        ".vscode *.code-workspace .config/code .idea .zed .config/zed .cursor .windsurf .vim .vimrc "
        ".gvimrc .exrc .nvimrc .nvim.lua .config/nvim .emacs .emacs.d .config/emacs .dir-locals.el "
        ".gdbinit .config/gdb .lldbinit .pdbrc .irbrc .pryrc .rprofile .tmux.conf .config/tmux .screenrc "
        # agents
        ".acpella .claude .codex .gemini .mcp.json .opencode opencode.json opencode.jsonc .qwen .vibe "
        ".kimi .kiro .roo .continue .crush crush.json .crush.json .aider.conf.yml .amazonq .junie "
        ".clinerules .cline .trae .augment .factory .openhands .copilot/mcp-config.json "
        # shells, desktops and what starts with the machine
        ".bashrc .bashrc.d .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv "
        ".zprofile .zlogin .zlogout .config/zsh .kshrc .mkshrc .cshrc .tcshrc .login .logout .config/fish "
        ".inputrc .local/bin .xprofile .xsession .xsessionrc .xinitrc .pam_environment .config/environment.d "
        ".config/autostart .config/systemd .local/share/systemd .config/plasma-workspace/env .config/sway "
        "library/launchagents "
    ).split()
)
"""Directories and files whose content programs run by themselves: a hook of git's, a task of an editor's, a
command in the settings of an agent's, what shells read when they start. A slash joins names that follow each
other, and `*` stands for any beginning."""

_ACTING_ENDINGS = tuple(name[1:] for name in ACTING_NAMES if name.startswith("*"))

_OF_A_REPOSITORY = frozenset("config config.worktree commondir hooks objects refs".split())
"""What git reads beside a HEAD. With one, any directory is a repository, and its config names programs."""

_SHORT_NAMES = {name.lstrip(".").partition(".")[0][:6] for name in ACTING_NAMES if "/" not in name}
_SHORT_NAME = re.compile(r"([^~]{1,6})~\d+(?:\..*)?")
"""Windows gives such names, too: `ACPELL~1` is `.acpella`."""


def names_of(path: str) -> list[str]:
    return [name for name in path.replace(os.sep, "/").split("/") if name not in ("", ".")]


def is_beneath(path: str, root: str) -> bool:
    """Whether the path starts with the root's names; dots after them are the walk's business."""
    names = names_of(root)
    return os.path.isabs(path) and names_of(path)[: len(names)] == names


def acting_name(path: str | Path, root: str | Path = os.sep) -> str | None:
    """The name in a path below `root` that programs run by themselves, if there is one (`ACTING_NAMES`).

    A bare repository needs no name of its own: a file HEAD counts, and so does what lies beside one.
    """
    skipped = len(names_of(os.fspath(root)))
    names = names_of(os.fspath(path))[skipped:]
    plain = [_plain(name) for name in names]
    for index, name in enumerate(names):
        if plain[index] in ACTING_NAMES or plain[index].endswith(_ACTING_ENDINGS):
            return name
        if plain[index] in _OF_A_REPOSITORY and _has_head(path, len(names) - index):
            return name
        if (short := _SHORT_NAME.fullmatch(plain[index])) and short[1] in _SHORT_NAMES:
            return name
        for end in (index + 2, index + 3):
            if "/".join(plain[index:end]) in ACTING_NAMES:
                return "/".join(names[index:end])
    return names[-1] if plain and plain[-1] == "head" else None


def _has_head(path: str | Path, up: int) -> bool:
    """Whether a HEAD lies in the directory that is so many names up."""
    directory = Path(path)
    for _ in range(up):
        directory = directory.parent
    return os.path.lexists(directory / "HEAD")


def own_directories(roots: Sequence[str]) -> list[str]:
    """The directories of acpella's own inside these roots: what agents may do is decided there.

    A root that lies in one of them was chosen by somebody who meant it.
    """
    ends = [os.path.join(root, "") for root in roots]
    return [
        own
        for own in directories.own()
        if any(own.startswith(root) for root in ends)
        and not any(root.startswith(own + os.sep) for root in ends)
    ]


def _plain(name: str) -> str:
    """A name as the most forgiving system reads it.

    Some do not tell cases apart, some drop what is at the end or behind a colon, some what cannot be seen.
    """
    seen = "".join(char for char in name if char.isprintable())
    return unicodedata.normalize("NFKC", seen.casefold().partition(":")[0]).rstrip(" .")


def _patterns(patterns: Sequence[str]) -> str:
    return "|".join(
        re.escape(each.strip("/")).replace(r"\*\*/", "(?:[^/]*/)*").replace(r"\*", "[^/]*")
        for each in patterns
    )


_NAMES = [each for each in SECRET_PATHS if not each.startswith("/")]
_PLACES = [each for each in SECRET_PATHS if each.startswith("/")]

SECRET_NAME: re.Pattern[str] = re.compile(f"/({_patterns(_NAMES)})/")
SECRET_PLACE: re.Pattern[str] = re.compile(f"/({_patterns(_PLACES)})/")
